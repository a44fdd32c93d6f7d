// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"sentinel/internal/health"
)

// Thresholds are the bounds behind threat_level. Their keys, defaults and maxima
// come from the figures of package health.
type Thresholds health.Thresholds

// MarshalYAML writes the thresholds in the order of the figures.
func (t Thresholds) MarshalYAML() (any, error) {
	node := &yaml.Node{Kind: yaml.MappingNode}
	for _, f := range health.Configurable() {
		var key, value yaml.Node
		key.SetString(f.Key)
		var content any = t[f.Key].Level
		if f.Default.Severity != "" {
			content = t[f.Key].Severity
		}
		if err := value.Encode(content); err != nil {
			return nil, err
		}
		node.Content = append(node.Content, &key, &value)
	}
	return node, nil
}

// UnmarshalYAML changes the thresholds that the node contains. It must be as strict
// as the decoder of the whole file, because KnownFields does not apply to types
// that decode themselves.
func (t Thresholds) UnmarshalYAML(node *yaml.Node) error {
	var values map[string]yaml.Node
	if err := node.Decode(&values); err != nil { // rejects duplicate keys
		return err
	}
	for key, value := range values {
		i := slices.IndexFunc(health.Configurable(), func(f *health.Figure) bool { return f.Key == key })
		if i < 0 {
			return unknownKey(node, key)
		}
		if err := t.set(health.Configurable()[i], value); err != nil {
			return err
		}
	}
	return nil
}

func (t Thresholds) set(f *health.Figure, value yaml.Node) error {
	threshold := t[f.Key]
	if f.Default.Severity != "" {
		err := value.Decode(&threshold.Severity)
		t[f.Key] = threshold
		return err
	}
	err := value.Decode(&threshold.Level)
	t[f.Key] = threshold
	for i := 0; err == nil && value.Kind == yaml.MappingNode && i < len(value.Content); i += 2 {
		if key := value.Content[i].Value; key != "warning" && key != "critical" && key != "<<" {
			return unknownKey(&value, key)
		}
	}
	return err
}

// unknownKey returns the same error as the decoder does for an unknown key.
func unknownKey(mapping *yaml.Node, key string) error {
	line := mapping.Line
	for i := 0; i < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			line = mapping.Content[i].Line
		}
	}
	return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: field %s not found in type thresholds", line, key)}}
}

func (t Thresholds) check() error {
	for _, f := range health.Configurable() {
		if f.Default.Severity == "" {
			if err := checkLevel(f.Key, t[f.Key].Level, f.Max); err != nil {
				return err
			}
			continue
		}
		if severity := t[f.Key].Severity; !slices.Contains([]string{"none", "warning", "critical"}, severity) {
			return fmt.Errorf("thresholds.%s is %q; none, warning or critical are allowed", f.Key, severity)
		}
	}
	return nil
}

func checkLevel(name string, l health.Level, most float64) error {
	for _, v := range []float64{l.Warning, l.Critical} {
		if math.IsNaN(v) || v <= 0 || v > most {
			return fmt.Errorf("thresholds.%s holds %v; a number above 0 and at most %s is allowed", name, v, strconv.FormatFloat(most, 'f', -1, 64))
		}
	}
	if l.Warning > l.Critical {
		return fmt.Errorf("thresholds.%s: warning %v is above critical %v", name, l.Warning, l.Critical)
	}
	return nil
}
