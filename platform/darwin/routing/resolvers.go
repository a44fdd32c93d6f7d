// SPDX-License-Identifier: Apache-2.0

package routing

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"sentinel/internal/sanitize"
)

// A Resolver is one of the configurations that mDNSResponder works with.
type Resolver struct {
	Domain    string // which it is for; empty for all
	Interface string // through which it is asked; empty for any
	Servers   []netip.Addr
}

// ParseResolvers reads what "scutil --dns" prints: the resolvers for all
// programs, and below them those for programs that use one interface.
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
