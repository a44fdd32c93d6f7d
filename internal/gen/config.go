// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"sentinel/internal/config"
	"sentinel/internal/health"
)

// addConfig adds the default configuration, and the rows of thresholds in
// docs/configuration.md.
func addConfig(files map[string][]byte) error {
	defaults, err := yaml.Marshal(config.Default())
	if err != nil {
		return err
	}
	files["docs/config.default.yaml"] = defaults
	const page = "docs/configuration.md"
	raw, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		return err
	}
	text, err := withThresholds(string(raw))
	files[page] = []byte(text)
	return err
}

// withThresholds replaces the rows of thresholds, which are consecutive.
func withThresholds(page string) (string, error) {
	const row = "\n| `thresholds."
	first, last := strings.Index(page, row), strings.LastIndex(page, row)
	if first < 0 {
		return "", errors.New("the page about the configuration has no row of a threshold")
	}
	end := last + 1 + strings.Index(page[last+1:], "\n") + 1
	var rows strings.Builder
	for _, f := range health.Configurable() {
		standard := fmt.Sprintf("%v / %v", f.Default.Warning, f.Default.Critical)
		if f.Default.Severity != "" {
			standard = "`" + f.Default.Severity + "`"
		}
		fmt.Fprintf(&rows, "| `thresholds.%s` | %s | %s |\n", f.Key, standard, f.Meaning())
	}
	return page[:first+1] + rows.String() + page[end:], nil
}
