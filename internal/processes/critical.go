// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"errors"
	"path"
	"slices"

	"sentinel/internal/sshserver"
)

// A CriticalRule names programs that a machine or its owner's session depends
// on. Anyone can give a process any name. What root calls a process counts; for one of an account the
// name is that of the program's file, which has to be a file of the system: a user's own "sshd" can
// be ended, and so can a script called gnome-shell.
type CriticalRule struct {
	Names    []string
	Accounts []string // beside root
	// SystemFile makes the names count for every user, as those of a desktop do, but in services of the system: whoever
	// gets into one can start such programs there. OnlySystemFile makes a file of the system needed for root's processes
	// as well.
	SystemFile     bool
	OnlySystemFile bool
	// Restart is set where a restart of the service does as much harm as its end.
	Restart bool
	// Login is set for programs that take logins. What is known of the sessions that a process
	// carries goes before such a rule, which is for servers that carry none.
	Login bool
	// Matches decides in place of names and users, where set.
	Matches func(Facts) bool
	Why     string
}

// WhyRouting is about what keeps routes and addresses, by its name or by its [Duty].
const WhyRouting = "routes or addresses of this machine depend on it, and with them whoever reaches it over these"

// WhyWayOut is about what the machine's packets to other networks go through, by its [Duty].
const WhyWayOut = "it carries a tunnel by which this machine reaches other networks or its name servers"

// why says why a process with the duty must not be ended; empty for none.
func (d Duty) why() string {
	switch {
	case d.NameServer:
		return "it answers this machine's own questions for names"
	case d.Routing:
		return WhyRouting
	case d.WayOut:
		return WhyWayOut
	default:
		return ""
	}
}

// refuseDuty refuses what the network of this machine depends on. It need not be outside of containers:
// one may share the network of the machine.
func (p *Termination) refuseDuty(ctx context.Context) error {
	if why := p.facts.Duty.why(); why != "" {
		return p.protectedAs(why).WithFix(p.instead())
	}
	if err := p.facts.Duty.Unread; err != nil {
		return unavailable(ctx, "What the network of this machine has of "+p.who()+" cannot be read", err)
	}
	return nil
}

// critical says why the machine depends on the process; empty when it does not.
// What runs in a container belongs to the container.
func (p *Termination) critical(ctx context.Context, e Ending) string {
	if p.facts.Nested {
		return ""
	}
	for _, rule := range p.source.Critical() {
		if (rule.Restart || !e.ComesBack) && (!e.Carries || !rule.Login) && p.under(ctx, rule) {
			return rule.Why
		}
	}
	if !e.ComesBack && !e.Carries && p.servesLogin(ctx) {
		return "an SSH server of root runs it for somebody who logs in"
	}
	return ""
}

func (p *Termination) under(ctx context.Context, rule CriticalRule) bool {
	if rule.Matches != nil {
		return rule.Matches(p.facts)
	}
	if !p.facts.is(rule.Names...) {
		return false
	}
	file, err := p.programFile(ctx, p.pinned)
	switch f := p.facts; {
	case rule.OnlySystemFile:
		return file.System || err != nil
	case f.UserID == 0:
		return f.namedByRoot(file, rule.Names)
	case f.ownedBy(rule.Accounts):
		return f.runs(rule.Names) && (file.System || err != nil)
	default:
		return rule.SystemFile && f.runs(rule.Names) && file.System && (!f.inService() || p.servedBy(ctx, rule.Names))
	}
}

// inService says that the process belongs to a service of the system that is no service manager of a user.
func (f Facts) inService() bool { return f.Unit.Service && !f.Unit.User && !f.Unit.Manager }

// namedByRoot says that nobody but root gave a process of root one of the names: whoever starts a
// program that lends its rights chooses what it is called.
func (f Facts) namedByRoot(file ProgramFile, names []string) bool {
	return f.UserID == 0 && f.is(names...) && (!file.Lent || f.runs(names))
}

// runs says whether the program has one of the names; it may, where it is not known.
func (f Facts) runs(names []string) bool {
	return f.Program() == "" || slices.Contains(names, f.Program())
}

// protectedByName says whether the configuration protects a process: by its program, which has to be a file of the
// system, by the unit of the system that it belongs to, or by the name that root gave it. It protects a service only by a
// program that this is there for: anybody who has programs run in it may have started another.
func (p *Termination) protectedByName(ctx context.Context) bool {
	f, names := p.facts, p.protected
	if u := f.Unit; !u.User && u.Name != "" && slices.ContainsFunc(names, func(n string) bool { return u.Name == n || u.Name == n+".service" }) {
		return true
	}
	if !f.is(names...) {
		return false
	}
	file, err := p.programFile(ctx, p.pinned)
	if f.UserID == 0 {
		return f.namedByRoot(file, names) || err != nil
	}
	return f.Program() != "" && f.runs(names) && file.System && (!p.along || !f.inService() || p.servedBy(ctx, names))
}

// servedBy says whether the main process of the service that a process belongs to has one of the names. One that cannot
// be looked at counts as such.
func (p *Termination) servedBy(ctx context.Context, names []string) bool {
	asked := askRestart(ctx, p.source, p.target.PID, p.facts.Unit)
	if asked.main || asked.policy.MainPID == 0 {
		return true
	}
	main, err := hold(ctx, p.source, asked.policy.MainPID)
	if err != nil {
		return true
	}
	defer main.Close()
	return main.facts.is(names...)
}

// is says whether the process has one of the names: as the kernel has it, as it
// is shown, or that of its program. The kernel keeps the first bytes of a long one.
func (f Facts) is(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return name == f.Name || name == fullName(f.Name, f.Arguments) || name == f.Program() ||
			f.Program() == "" && len(name) > maxKernelName && name[:maxKernelName] == f.Name
	})
}

// Program is the name of the file that runs; empty when it is not known.
func (f Facts) Program() string {
	if f.Executable == "" {
		return ""
	}
	return path.Base(f.Executable)
}

func (f Facts) ownedBy(accounts []string) bool {
	return f.UserID == 0 || slices.Contains(accounts, f.User)
}

// servesLogin says that an SSH server of root has started the process for a
// client, whoever it runs as. A user's own program with such a name has another parent. A
// parent that cannot be looked at counts as root's.
func (p *Termination) servesLogin(ctx context.Context) bool {
	if !p.facts.is(sshserver.Names()...) || !p.facts.runs(sshserver.Names()) || p.facts.Parent.PID < 1 {
		return false
	}
	parent, err := p.source.Pin(p.facts.Parent.PID)
	if err != nil {
		return !errors.Is(err, ErrNoProcess)
	}
	defer parent.Close() //nolint:errcheck // nothing was written
	facts, err := parent.Facts(ctx)
	if err != nil {
		return !errors.Is(err, ErrNoProcess)
	}
	file, _ := p.programFile(ctx, parent) //nolint:errcheck // one that cannot be looked at counts as root's
	return facts.namedByRoot(file, sshserver.Names())
}
