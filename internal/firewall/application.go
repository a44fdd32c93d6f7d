// SPDX-License-Identifier: Apache-2.0

package firewall

// An Application is the Application Firewall of macOS, which lets connections
// in to one program and not to another.
type Application struct {
	On bool
	// BlocksAll says that it lets nothing in but what the network itself needs.
	BlocksAll bool
	// AllowSigned and AllowSignedApp say that the programs of macOS, and others
	// that are signed, are let in without a rule of their own; nil when that is not known.
	AllowSigned, AllowSignedApp *bool
	// Beside says a few words about the packet filter, which is another thing.
	Beside string
	// Unreadable is why the state is not known; a [fault.Error] where there is a
	// fix.
	Unreadable error
}

// assess judges. The packet filter is reported and does not count: macOS itself
// loads rules there that protect nothing.
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

// unlisted is a sentence about the programs that the firewall has no rule for.
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
