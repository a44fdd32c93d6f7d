// SPDX-License-Identifier: Apache-2.0

package config

// Record holds the settings of the flight recorder.
type Record struct {
	// Enabled keeps a sample each minute; without it, --record ends at once.
	Enabled bool `yaml:"enabled"`
	// Resolver asks the name servers of this machine one question with each sample.
	Resolver bool `yaml:"resolver"`
}
