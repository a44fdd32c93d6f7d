// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"fmt"

	"sentinel/internal/fault"
)

// An Application is the Application Firewall of macOS, which lets connections
// in to one program and not to another.
type Application struct {
	On bool
	// BlocksAll reports that it admits only what the network itself needs.
	BlocksAll bool
	// AllowSigned and AllowSignedApp report whether the programs of macOS, and other signed ones,
	// are allowed without a rule of their own; nil if unknown.
	AllowSigned, AllowSignedApp *bool
	// Beside describes the packet filter, which is separate, in a few words.
	Beside string
	// Unreadable is the reason why the state is unknown; a [fault.Error] if there is a fix.
	Unreadable error
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
