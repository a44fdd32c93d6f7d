// SPDX-License-Identifier: Apache-2.0

// Package dockerd reads how the daemon of Docker is configured (dockerd(8)).
package dockerd

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"sentinel/platform/linux/unitfile"
)

// Unit is the service of the daemon.
const Unit = "docker.service"

// DefaultFile is the configuration that is read where no option names another.
const DefaultFile = "/etc/docker/daemon.json"

// MaxFile bounds what is read of a configuration, in bytes.
const MaxFile = 1 << 20

// flags are options without a value.
const flags = "Dhv"

// File is the configuration that a daemon with these arguments reads.
func File(arguments []string) string {
	if files := unitfile.Options(arguments, flags, "", "config-file"); len(files) > 0 {
		return files[len(files)-1]
	}
	return DefaultFile
}

// Hosts are the addresses at which the arguments have it answer.
func Hosts(arguments []string) []string { return unitfile.Options(arguments, flags, "H", "host") }

// LiveRestore reports whether the arguments have containers go on without the daemon.
func LiveRestore(arguments []string) bool { return isOn(arguments, "--live-restore") }

// TLSVerify reports whether the arguments have it demand certificates of clients.
func TLSVerify(arguments []string) bool { return isOn(arguments, "--tlsverify") }

// isOn reports whether arguments switch on an option with the values of [strconv.ParseBool]; the last one counts.
func isOn(arguments []string, option string) bool {
	on := false
	for _, word := range arguments {
		name, value, given := strings.Cut(word, "=")
		if name == option {
			on = !given
			if yes, err := strconv.ParseBool(value); err == nil {
				on = yes
			}
		}
	}
	return on
}

// Settings are those of a configuration.
type Settings struct {
	Hosts       []string `json:"hosts"`
	TLSVerify   bool     `json:"tlsverify"`
	LiveRestore bool     `json:"live-restore"`
}

// Parse reads a configuration; an empty one says nothing.
func Parse(raw []byte) (Settings, error) {
	var s Settings
	if len(raw) > 0 && json.Unmarshal(raw, &s) != nil {
		return s, errors.New("is not JSON")
	}
	return s, nil
}
