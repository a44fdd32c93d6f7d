// SPDX-License-Identifier: Apache-2.0

// Package target parses the network targets that callers name: one address, or the
// name of one host. This is the place where input is made safe: a parsed target can
// be neither an option, nor a path, a pattern or a network.
package target

import (
	"net/netip"
	"strconv"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/sanitize"
)

// Bounds of a name without the dot of the root, RFC 1035 section 2.3.4.
const (
	maxName  = 253
	maxLabel = 63
)

// A Host is one address or one name.
type Host struct {
	Name string     // in lower case and without the dot of the root; empty for an address
	Addr netip.Addr // without zone, and not an IPv4 address in IPv6 form; invalid for a name
}

// String returns the address, or the name.
func (h Host) String() string {
	if h.Addr.IsValid() {
		return h.Addr.String()
	}
	return h.Name
}

// Parse reads one address or host name. Every error is INVALID_TARGET.
func Parse(text string) (Host, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		return parseAddress(addr)
	}
	if _, err := netip.ParsePrefix(text); err == nil {
		return Host{}, invalid(text, "is a network; one target is one host")
	}
	name := strings.TrimSuffix(text, ".")
	if why := wrong(name); why != "" {
		return Host{}, invalid(text, why)
	}
	return Host{Name: strings.ToLower(name)}, nil
}

func parseAddress(addr netip.Addr) (Host, error) {
	if addr.Zone() != "" {
		return Host{}, invalid(addr.String(), "names an interface; send the address without %"+addr.Zone())
	}
	addr = addr.Unmap()
	if addr.IsUnspecified() || addr.IsMulticast() || addr == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		return Host{}, invalid(addr.String(), "is not the address of one host")
	}
	return Host{Addr: addr}, nil
}

func invalid(text, why string) error {
	return fault.New(fault.InvalidTarget, strconv.Quote(sanitize.Text(text, 80))+" "+why+".")
}

// wrong explains why a name is not a host name by RFC 1123 section 2.1; "" if it is
// one. Some programs read a last label that is a number as part of an address,
// others as a name, so it is rejected.
func wrong(name string) string {
	if name == "" || len(name) > maxName {
		return "is not a host name: it has to have 1 to 253 characters"
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if !hostLabel(label) {
			return "is not a host name: each part has 1 to 63 letters, digits and hyphens, and neither begins nor ends with a hyphen"
		}
	}
	last := labels[len(labels)-1]
	if _, err := strconv.ParseUint(last, 0, 64); err == nil || strings.Trim(last, "0123456789-") == "" {
		return "is neither an address nor a host name"
	}
	return ""
}

func hostLabel(label string) bool {
	if label == "" || len(label) > maxLabel || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	for _, c := range []byte(label) {
		if !letter(c) && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

func letter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
