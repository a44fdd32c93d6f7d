// SPDX-License-Identifier: Apache-2.0

package routing

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"sentinel/internal/sanitize"
)

// A Resolver is one resolver configuration of mDNSResponder.
type Resolver struct {
	Domain    string // the domain that it serves; empty for all
	Interface string // the interface that queries use; empty for any
	Servers   []netip.Addr
}

// ParseResolvers parses the output of "scutil --dns": the resolvers for all programs, followed by
// those for programs bound to an interface.
func ParseResolvers(printed []byte) ([]Resolver, error) {
	var list []Resolver
	begun := false
	for line := range strings.Lines(string(printed)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "DNS configuration"), line == "No DNS configuration available":
			begun = true
		case !begun: // noise of a log
		case strings.HasPrefix(line, "resolver #"):
			list = append(list, Resolver{})
		case len(list) > 0:
			if err := list[len(list)-1].read(line); err != nil {
				return nil, err
			}
		}
	}
	if !begun {
		return nil, errors.New("scutil printed no DNS configuration")
	}
	return list, nil
}

func (r *Resolver) read(line string) error {
	key, value, _ := strings.Cut(line, " : ")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	switch {
	case key == "domain":
		r.Domain = value
	case key == "if_index":
		_, name, _ := strings.Cut(value, "(")
		r.Interface = strings.TrimSuffix(name, ")")
	case strings.HasPrefix(key, "nameserver["):
		a, err := netip.ParseAddr(value)
		if err != nil {
			return fmt.Errorf("scutil prints the name server %q", sanitize.Text(value, 60))
		}
		r.Servers = append(r.Servers, a)
	}
	return nil
}
