// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"fmt"
	"net/netip"
	"slices"

	"sentinel/internal/fault"
	"sentinel/internal/reach"
)

// An Application is the Application Firewall of macOS, which lets connections
// in to one program and not to another.
type Application struct {
	On bool
	// BlocksAll reports that it admits only what the network itself needs.
	BlocksAll bool
	// Exempt are the programs that it admits all the same.
	Exempt []string
	// AllowSigned and AllowSignedApp report whether the programs of macOS, and other signed ones,
	// are allowed without a rule of their own; nil if unknown.
	AllowSigned, AllowSignedApp *bool
	// Beside describes the packet filter, which is separate, in a few words.
	Beside string
	// Unreadable is the reason why the state is unknown; a [fault.Error] if there is a fix.
	Unreadable error
	// Passes reports that the packet filter lets everything in: it is off, or none of its rules
	// blocks. PassesErr is why that is not known.
	Passes    bool
	PassesErr error
}

// reach implements [reach.Judge]. Which programs the Application Firewall lets in is decided by
// lists and signatures, and where it asks, by people.
func (a Application) reach(_ string, _ netip.AddrPort, process string) reach.Verdict {
	unknown := func(why string) reach.Verdict { return reach.Verdict{Answer: reach.Unknown, Why: why} }
	switch {
	case a.Unreadable != nil:
		return unknown("the state of the Application Firewall " + unread(a.Unreadable, "is "))
	case a.On && a.BlocksAll && process != "" && !slices.Contains(a.Exempt, process):
		return reach.Verdict{Answer: reach.Filtered}
	case a.On:
		return unknown("the Application Firewall decides for each program")
	case a.PassesErr != nil:
		return unknown("the rules of pf " + unread(a.PassesErr, "are "))
	case !a.Passes:
		return unknown("rules of pf block, and what is left open is not known")
	default:
		return reach.Verdict{Answer: reach.Reachable}
	}
}

// assess derives the status. The packet filter is reported but does not count: macOS itself loads
// rules there that protect nothing.
func (a Application) assess() Status {
	s := Status{Disabled, "the Application Firewall is off"}
	switch {
	case a.Unreadable != nil:
		s = Status{Unknown, "the state of the Application Firewall " + unread(a.Unreadable, "is ")}
	case a.On && a.BlocksAll:
		s = Status{Active, "the Application Firewall is on and blocks all incoming connections"}
	case a.On:
		s = Status{Active, "the Application Firewall is on"}
	}
	if a.Beside != "" {
		s.Evidence += "; " + a.Beside
	}
	return s
}

// unlisted returns a sentence about the programs without a rule.
func (a Application) unlisted() string {
	switch {
	case a.AllowSigned == nil || a.AllowSignedApp == nil:
		return "Of programs without a rule, macOS may ask at the screen."
	case *a.AllowSigned && *a.AllowSignedApp:
		return "Programs that are signed stay reachable without a rule; about others macOS asks at the screen."
	case *a.AllowSigned:
		return "Programs of macOS stay reachable without a rule; about others macOS asks at the screen."
	default:
		return "About programs without a rule, those of macOS too, it asks at the screen."
	}
}

// noPorts returns the refusal to let a port in: which program will accept its connections is not
// known before it does, and a rule for a program opens all of its ports.
func noPorts(p Port) error {
	return fault.New(fault.Unsupported, fmt.Sprintf("The Application Firewall lets in programs and no ports, and none that it lets in is known to have %s.", p)).
		WithFix("Let the program in: System Settings, Network, Firewall, Options. Or: sudo /usr/libexec/ApplicationFirewall/socketfilterfw --add PROGRAM")
}
