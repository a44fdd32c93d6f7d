// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"sentinel/internal/ops"
)

// A Policy limits programs that call tools, above all AI assistants, whoever runs them; and people who
// use sentinel through sudo without being root.
type Policy struct {
	// ReadOnly refuses every tool that changes the system or sends its state out.
	ReadOnly bool `yaml:"read_only"`
	// DisabledTools lists tools that are refused.
	DisabledTools []string `yaml:"disabled_tools"`
	// EnabledTools lists tools to switch on that are refused to programs otherwise.
	EnabledTools []string `yaml:"enabled_tools"`
	// DestructivePerMinute is how many destructive calls all callers together may
	// make per minute, 0 to 1000. Root's own programs are not counted.
	DestructivePerMinute int `yaml:"destructive_per_minute"`
	// EndSessions lets programs end sessions of others with end_session; a person at a shell may always.
	EndSessions bool `yaml:"end_sessions"`
	// Ask says whether a client's user is asked before a program changes something: AskOff,
	// AskOffered or AskRequired.
	Ask string `yaml:"ask"`
}

// Whether the user of a client is asked before a change.
const (
	AskOff      = "off"
	AskOffered  = "offered"  // where the client can ask; otherwise it goes on without
	AskRequired = "required" // a client that cannot ask is refused
)

// Protect lists objects that are refused to everyone, in addition to sentinel's
// built-in rules. --force on the command line overrides it.
type Protect struct {
	// Addresses and networks that are never blocked: the allowlist.
	Addresses []Network `yaml:"addresses"`
	// Processes, by name, that are never terminated.
	Processes []string `yaml:"processes"`
	// Services that are never restarted.
	Services []string `yaml:"services"`
}

// A Network is one address or a network in CIDR notation.
type Network struct{ netip.Prefix }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (n *Network) UnmarshalText(text []byte) error {
	if a, err := netip.ParseAddr(string(text)); err == nil && a.Zone() == "" {
		a = a.Unmap()
		n.Prefix = netip.PrefixFrom(a, a.BitLen())
		return nil
	}
	p, err := netip.ParsePrefix(string(text))
	if err != nil {
		return fmt.Errorf("%q is neither an address nor a network such as 192.0.2.0/24", text)
	}
	n.Prefix = p.Masked()
	return nil
}

// MarshalText implements [encoding.TextMarshaler].
func (n Network) MarshalText() ([]byte, error) { return n.Prefix.MarshalText() }

func defaultPolicy() Policy {
	return Policy{DisabledTools: []string{}, EnabledTools: []string{}, DestructivePerMinute: 10, Ask: AskOffered}
}

func defaultProtect() Protect {
	return Protect{Addresses: []Network{}, Processes: []string{}, Services: []string{}}
}

// maxPerMinute bounds destructive_per_minute.
const maxPerMinute = 1000

func (p Policy) check() error {
	if p.DestructivePerMinute < 0 || p.DestructivePerMinute > maxPerMinute {
		return fmt.Errorf("policy.destructive_per_minute is %d; it must be from 0 to %d", p.DestructivePerMinute, maxPerMinute)
	}
	if !slices.Contains([]string{AskOff, AskOffered, AskRequired}, p.Ask) {
		return fmt.Errorf("policy.ask is %q; it must be %s, %s or %s", p.Ask, AskOff, AskOffered, AskRequired)
	}
	for _, name := range p.DisabledTools {
		if _, known := ops.ByName(name); !known {
			return fmt.Errorf("policy.disabled_tools names %q, and there is no such tool", name)
		}
	}
	for _, name := range p.EnabledTools {
		if op, known := ops.ByName(name); !known || !op.OptIn {
			return fmt.Errorf("policy.enabled_tools names %q, and there is no such tool that has to be switched on", name)
		}
	}
	return nil
}

func (p Protect) check() error {
	for _, list := range [][]string{p.Processes, p.Services} {
		if slices.Contains(list, "") {
			return errors.New("protect holds an empty name")
		}
	}
	return nil
}
