// SPDX-License-Identifier: Apache-2.0

package routing

import (
	"errors"
	"fmt"
	"math/bits"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"sentinel/internal/sanitize"
)

// An Interface is a network interface.
type Interface struct {
	Name      string
	Flags     []string // as <net/if.h> names them, without IFF_
	MTU       int      // bytes; 0 if not printed
	Ether     string   // hardware address as printed; empty if it has none
	Status    string   // link status, such as "active"; empty if it has none
	Addresses []Address
	// Tunnel is the remote address of the outer packets of a tunnel; the zero address if the kernel
	// does not know it, as with a tunnel that a program implements.
	Tunnel netip.Addr
}

// Up reports whether the interface is up.
func (i Interface) Up() bool { return slices.Contains(i.Flags, "UP") }

// PointToPoint reports whether the interface has a single peer, like a tunnel.
func (i Interface) PointToPoint() bool { return slices.Contains(i.Flags, "POINTOPOINT") }

// An Address is an address of an interface.
type Address struct {
	Prefix netip.Prefix // the address and the prefix length of its network
	// Peer is the other end of a point-to-point link; the zero address if there is none.
	Peer netip.Addr
}

// ParseInterfaces parses the output of "ifconfig -a". An address that cannot be parsed is an error:
// callers must not mistake it for the absence of one.
func ParseInterfaces(printed []byte) ([]Interface, error) {
	var list []Interface
	for line := range strings.Lines(string(printed)) {
		if i, ok := heading(line); ok {
			list = append(list, i)
			continue
		}
		fields := strings.Fields(line)
		if len(list) == 0 || len(fields) < 2 {
			continue
		}
		if err := list[len(list)-1].read(fields); err != nil {
			return nil, err
		}
	}
	if len(list) == 0 {
		return nil, errors.New("ifconfig printed no interface")
	}
	return list, nil
}

// heading parses "en0: flags=8863<UP,BROADCAST> mtu 1500", or "... metric 1 mtu 1500" where the
// interface has a metric (print_interface of ifconfig.c). Only such lines are not indented.
func heading(line string) (Interface, bool) {
	name, rest, ok := strings.Cut(line, ": flags=")
	if !ok || name == "" || strings.ContainsAny(name, " \t") {
		return Interface{}, false
	}
	i := Interface{Name: name}
	_, rest, _ = strings.Cut(rest, "<")
	flags, rest, _ := strings.Cut(rest, ">")
	i.Flags = strings.FieldsFunc(flags, func(r rune) bool { return r == ',' })
	if fields := strings.Fields(rest); slices.Contains(fields, "mtu") {
		i.MTU, _ = strconv.Atoi(fields[min(slices.Index(fields, "mtu")+1, len(fields)-1)]) //nolint:errcheck // 0 means unknown
	}
	return i, true
}

func (i *Interface) read(fields []string) error {
	switch fields[0] {
	case "ether":
		i.Ether = fields[1]
	case "status:":
		i.Status = strings.Join(fields[1:], " ")
	case "tunnel": // tunnel inet 192.0.2.1 --> 192.0.2.2
		if at := slices.Index(fields, "-->"); at > 0 && at+1 < len(fields) {
			end, err := netip.ParseAddr(fields[at+1])
			if err != nil {
				return fmt.Errorf("ifconfig prints the far end %q of %s", sanitize.Text(fields[at+1], 60), sanitize.Text(i.Name, 15))
			}
			i.Tunnel = end
		}
	case "inet", "inet6":
		a, err := parseAddress(fields)
		if err != nil {
			return fmt.Errorf("ifconfig prints the address %q of %s", sanitize.Text(strings.Join(fields, " "), 80), sanitize.Text(i.Name, 15))
		}
		i.Addresses = append(i.Addresses, a)
	}
	return nil
}

// parseAddress parses "inet 192.0.2.7 --> 192.0.2.8 netmask 0xffffff00" and "inet6 fe80::1%en0
// prefixlen 64 scopeid 0x1".
func parseAddress(fields []string) (Address, error) {
	own, err := netip.ParseAddr(fields[1])
	if err != nil {
		return Address{}, err
	}
	var a Address
	length := own.BitLen()
	for n := 2; n+1 < len(fields); n++ {
		switch value := fields[n+1]; fields[n] {
		case "-->":
			a.Peer, err = netip.ParseAddr(value)
		case "prefixlen":
			length, err = strconv.Atoi(value)
		case "netmask":
			length, err = maskLength(value)
		}
		if err != nil {
			return Address{}, err
		}
	}
	a.Prefix = netip.PrefixFrom(own.WithZone(""), length)
	if !a.Prefix.IsValid() {
		return Address{}, errors.New("no such prefix")
	}
	return a, nil
}

// maskLength parses a mask such as 0xffffff00.
func maskLength(text string) (int, error) {
	mask, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 32)
	if err != nil {
		return 0, err
	}
	return bits.OnesCount32(uint32(mask)), nil
}
