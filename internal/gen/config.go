// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go.yaml.in/yaml/v3"

	"sentinel/internal/config"
)

func addConfig(files map[string][]byte) error {
	defaults, err := yaml.Marshal(config.Default())
	files["docs/config.default.yaml"] = defaults
	return err
}
