// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sentinel/internal/webhook"
)

// published is the schema that receivers check documents against.
func published(t *testing.T) map[string]any {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "schemas", fmt.Sprintf("webhook-v%d.json", webhook.SchemaVersion)))
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	return schema
}

// Every delivered document fits the published schema, and one that lacks
// something or has another type does not.
func TestWhatIsDeliveredFitsThePublishedSchema(t *testing.T) {
	schema := published(t)
	for _, machine := range []string{"laptop", "container", "vm", "raspberrypi"} {
		d := telemetryOf(t, machine)
		validate(t, schema, d.Body)
		var changed map[string]any
		if err := json.Unmarshal(d.Body, &changed); err != nil {
			t.Fatal(err)
		}
		for name, value := range maps.Clone(changed) {
			if changed[name] = ofAnotherType(value); fits(t, schema, changed) {
				t.Errorf("%s: %s of another type fits", machine, name)
			}
			delete(changed, name)
			if fits(t, schema, changed) == slices.Contains(schema["required"].([]any), any(name)) {
				t.Errorf("%s: without %s it fits: %v", machine, name, !slices.Contains(schema["required"].([]any), any(name)))
			}
			changed[name] = value
		}
	}
}

func ofAnotherType(value any) any {
	if _, list := value.([]any); list {
		return map[string]any{}
	}
	return []any{}
}

func fits(t *testing.T, schema, document map[string]any) bool {
	t.Helper()
	raw, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return conforms(schema, raw) == nil
}
