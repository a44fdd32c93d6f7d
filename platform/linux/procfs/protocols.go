// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"fmt"
)

// Protocols counts the sockets of each protocol that the kernel has, by its name there such as SCTPv6, in the network
// namespace that /proc shows (/proc/net/protocols of proc_net_protocols in net/core/sock.c). Of those that do not count
// theirs, AF_VSOCK among them, it is 0.
func (fs FS) Protocols() (map[string]int, error) {
	return readWith(fs, parseProtocols, "net", "protocols")
}

// parseProtocols parses "protocol size sockets memory ..." below its heading.
func parseProtocols(b []byte) (map[string]int, error) {
	counts := map[string]int{}
	for line := range lines(b) {
		fields := bytes.Fields(line)
		if len(fields) < 3 {
			return nil, ErrFormat
		}
		if string(fields[0]) == "protocol" {
			continue
		}
		n, ok := number(fields[2])
		if !ok || n > 1<<31-1 {
			return nil, fmt.Errorf("sockets: %w", ErrFormat)
		}
		counts[string(fields[0])] = int(n)
	}
	return counts, nil
}
