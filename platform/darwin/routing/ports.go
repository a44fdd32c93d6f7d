// SPDX-License-Identifier: Apache-2.0

package routing

import (
	"context"
	"errors"
	"strings"

	"sentinel/internal/sysexec"
)

const networksetupProgram = "/usr/sbin/networksetup"

var errPorts = errors.New("networksetup printed no complete list of hardware ports")

// Ports returns what macOS calls the hardware port of each interface, such as "Wi-Fi" for "en0".
// Interfaces without hardware have none. The names follow the language of the system and may be
// changed by whoever administers it.
func Ports(ctx context.Context, runner sysexec.Runner) (map[string]string, error) {
	r, err := run(ctx, runner, networksetupProgram, "-listallhardwareports")
	if err != nil {
		return nil, err
	}
	if r.Exit != 0 {
		return nil, failed(networksetupProgram, r)
	}
	return ParsePorts(r.Stdout)
}

// ParsePorts parses the output of "networksetup -listallhardwareports" (macOS 10.14 to 14.4): for
// each port the lines "Hardware Port: NAME", "Device: en0" and "Ethernet Address: ...". Those of
// the VLANs after them have other names. It is an error if a port has no device, or a device no
// port: which belong together is not known then.
func ParsePorts(printed []byte) (map[string]string, error) {
	ports := map[string]string{}
	port := ""
	for line := range strings.Lines(string(printed)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch whole := strings.HasSuffix(line, "\n"); {
		case key == "Hardware Port" && port == "" && whole:
			port = value
		case key == "Device" && port != "" && whole:
			ports[value], port = port, ""
		case key == "Hardware Port", key == "Device":
			return nil, errPorts
		}
	}
	if len(ports) == 0 || port != "" {
		return nil, errPorts
	}
	return ports, nil
}
