// SPDX-License-Identifier: Apache-2.0

// Package resolvconf reads the name servers of a resolv.conf(5).
package resolvconf

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"

	"github.com/miekg/dns"

	"sentinel/platform/unix/hostfile"
)

// maxFile bounds a file, in bytes. The library drops what follows a line of 64
// KiB or more without a word; a file below that has no such line.
const maxFile = 64<<10 - 1

// Ports are those that name servers are asked at: with questions as they are, and within TLS (RFC 7858).
var Ports = []uint16{53, 853}

// Servers returns the name servers in the file at path, in their order. Those
// that are no address are left out: the C library does not ask them either.
func Servers(path string) ([]netip.Addr, error) {
	raw, err := hostfile.Read(path, maxFile)
	if err != nil {
		return nil, err
	}
	return parse(raw)
}

// files name the name servers: those of programs, and those that systemd-resolved, NetworkManager and
// resolvconf(8) give to a resolver on this machine. What its own files name is of servernames.
var files = []string{
	"etc/resolv.conf",
	"run/systemd/resolve/resolv.conf",
	"run/NetworkManager/no-stub-resolv.conf",
	"run/dnsmasq/resolv.conf",
}

// Here returns the name servers of all such files of the machine below root, those of programs first. The error
// says, beside the rest, which files could not be read.
func Here(root string) (servers []netip.Addr, err error) {
	for _, name := range files {
		found, fileErr := Servers(filepath.Join(root, name))
		if fileErr != nil && !hostfile.Missing(fileErr) {
			err = errors.Join(err, fmt.Errorf("/%s: %w", name, hostfile.Reason(fileErr)))
		}
		servers = append(servers, found...)
	}
	return servers, err
}

func parse(raw []byte) ([]netip.Addr, error) {
	config, err := dns.ClientConfigFromReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	var servers []netip.Addr
	for _, text := range config.Servers {
		if a, err := netip.ParseAddr(text); err == nil {
			servers = append(servers, a)
		}
	}
	return servers, nil
}
