// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sentinel/internal/firewall"
	"sentinel/internal/sanitize"
	"sentinel/platform/darwin/lsof"
	"sentinel/platform/darwin/socketfilterfw"
)

const (
	// settle is how long the firewall may take until it shows that it is on, and
	// step how often it is asked meanwhile.
	settle = 3 * time.Second
	step   = 200 * time.Millisecond
)

// An application is the Application Firewall as a manager.
type application struct {
	m        *Manager
	began    bool     // it was ordered to turn on, and may have done so
	admitted []string // programs that were added to its list
}

var _ firewall.Backend = (*application)(nil)

// Name implements [firewall.Backend].
func (*application) Name() string { return firewall.ApplicationFirewall }

// Rules implements [firewall.Backend].
func (a *application) Rules(ctx context.Context) (firewall.Rules, error) {
	v, err := a.m.look(ctx)
	return firewall.Rules{For: v.ruling}, err
}

// Enable implements [firewall.Backend]. Programs of macOS need a rule only if the owner has turned
// off that they are allowed without one. There is no trial: the list of programs shows beforehand
// whether one of them is blocked, so no other run has to undo this.
func (a *application) Enable(ctx context.Context, ports []firewall.Port, _ func(firewall.Change) error) error {
	v, err := a.m.look(ctx)
	if err != nil {
		return err
	}
	for _, p := range ports {
		front := v.service(p).front
		if v.ruling(p).Verdict != firewall.Closed || front == "" || slices.Contains(a.admitted, front) {
			continue
		}
		a.admitted = append(a.admitted, front)
		if err := a.m.tool.Allow(ctx, front); err != nil {
			return fmt.Errorf("let %s in: %w", front, explain(err))
		}
	}
	return a.switchOn(ctx)
}

// switchOn waits for the firewall to show. That it did not is for the caller to
// find, who reads it back.
func (a *application) switchOn(ctx context.Context) error {
	err := a.m.tool.SetGlobal(ctx, true)
	refused := errors.Is(err, socketfilterfw.ErrManaged) || errors.Is(err, socketfilterfw.ErrNotRoot)
	a.began = !refused
	if err != nil {
		return explain(err)
	}
	ctx, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	for {
		if s, err := a.m.tool.State(ctx); err == nil && s.On() {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(step):
		}
	}
}

// Admits implements [firewall.Backend].
func (a *application) Admits(ctx context.Context, ports []firewall.Port) error {
	v, err := a.m.look(ctx)
	if err != nil {
		return err
	}
	for _, p := range ports {
		switch r := v.ruling(p); r.Verdict {
		case firewall.Open:
		case firewall.Denied:
			return fmt.Errorf("it shuts out new remote sessions by %s: %s", p, r.Rule)
		default:
			return fmt.Errorf("it does not say that it lets new remote sessions in by %s", p)
		}
	}
	return nil
}

// Keep implements [firewall.Backend]. macOS keeps the setting by itself.
func (*application) Keep(context.Context) (lasting bool, why string) { return true, "" }

// Undo implements [firewall.Backend]. It turns the firewall off, as it was before.
func (a *application) Undo(ctx context.Context) error {
	var problems []error
	if a.began {
		problems = append(problems, a.m.switchOff(ctx))
	}
	for _, program := range a.admitted {
		problems = append(problems, a.m.tool.Remove(ctx, program))
	}
	return errors.Join(problems...)
}

// switchOff reads the state back as well: an undo without visible effect is a failure.
func (m *Manager) switchOff(ctx context.Context) error {
	if err := m.tool.SetGlobal(ctx, false); err != nil {
		return err
	}
	s, err := m.tool.State(ctx)
	if err == nil && s.On() {
		err = errors.New("the Application Firewall is on still")
	}
	return err
}

// A view is a snapshot of the firewall and the sockets.
type view struct {
	state     socketfilterfw.State
	apps      []socketfilterfw.App
	appsErr   error // the reason why apps is unknown
	listeners map[firewall.Port][]lsof.Socket
}

// look reads all that a ruling needs. The list of programs may be unknown: that
// is a ruling of its own, which the owner can override.
func (m *Manager) look(ctx context.Context) (view, error) {
	v := view{listeners: map[firewall.Port][]lsof.Socket{}}
	var err error
	if v.state, err = m.tool.State(ctx); err != nil {
		return view{}, explain(err)
	}
	if v.apps, v.appsErr = m.tool.Apps(ctx); v.appsErr == nil {
		m.complete(ctx, v.apps)
	}
	sockets, err := m.sockets(ctx)
	if err != nil && ctx.Err() != nil {
		return view{}, ctx.Err()
	}
	for _, s := range sockets {
		if isListener(s) {
			p := firewall.Port{Number: s.Local.Port(), Protocol: protocol(s)}
			v.listeners[p] = append(v.listeners[p], s)
		}
	}
	return v, nil
}

// complete queries the rules of the relevant programs if the short list does not have them. A rule
// that is not reported stays unknown.
func (m *Manager) complete(ctx context.Context, apps []socketfilterfw.App) {
	for _, v := range services() {
		for _, program := range v.programs {
			same := func(app socketfilterfw.App) bool {
				return app.Rule == socketfilterfw.RuleUnknown && base(app.Name) == base(program)
			}
			at := slices.IndexFunc(apps, same)
			if at < 0 || program[0] != '/' {
				continue
			}
			if rule, err := m.tool.Rule(ctx, program); err == nil {
				apps[at].Rule = rule
			}
		}
	}
}

// service finds what people come in to at a port. A port that nobody listens at
// is one of a session, which came by ssh.
func (v view) service(p firewall.Port) service {
	for _, l := range v.listeners[p] {
		if s, ok := behind(l); ok {
			return s
		}
	}
	if len(v.listeners[p]) == 0 {
		return services()[0]
	}
	return service{}
}

// programs are those that accept the connections of a port. Beside a service, those of people that
// share its port do not count.
func (v view) programs(p firewall.Port) []string {
	list := slices.Clone(v.service(p).programs)
	served := len(list) > 0
	for _, l := range v.listeners[p] {
		if !served || !l.OfPerson() {
			list = append(list, l.Command)
		}
	}
	return list
}

// ruling implements [firewall.Rules].
func (v view) ruling(p firewall.Port) firewall.Ruling {
	programs := v.programs(p)
	if v.state.BlocksAll() {
		return firewall.Ruling{
			Verdict: firewall.Denied, Rule: "it is set to block all incoming connections",
			Fix: "Change that: sudo " + socketfilterfw.Program + " --setblockall off.",
		}
	}
	if v.appsErr != nil {
		return firewall.Ruling{
			Verdict: firewall.Denied, Rule: "its list of programs cannot be read (" + v.appsErr.Error() + ")",
			Fix: "Look for sshd in System Settings, Network, Firewall, Options.",
		}
	}
	listed := false
	for _, app := range v.apps {
		if !slices.ContainsFunc(programs, func(p string) bool { return base(p) == base(app.Name) }) {
			continue
		}
		if app.Rule == socketfilterfw.RuleBlock {
			return blocked(app)
		}
		listed = listed || app.Rule == socketfilterfw.RuleAllow
	}
	if !listed && v.service(p).added {
		return unlistedServer(v.service(p).programs)
	}
	if listed || v.unlisted(p) {
		return firewall.Ruling{Verdict: firewall.Open}
	}
	return firewall.Ruling{Verdict: firewall.Closed}
}

// unlistedServer refuses what nobody can tell: whether a server that is no part of
// macOS is let in without a rule depends on its signature.
func unlistedServer(programs []string) firewall.Ruling {
	return firewall.Ruling{
		Verdict: firewall.Denied, Rule: "its list does not name " + strings.Join(programs, " or ") + ", which is no part of macOS",
		Fix: "Let it in: System Settings, Network, Firewall, Options.",
	}
}

// unlisted says whether a program without a rule is let in. Who comes with macOS
// is known of the services alone; the others count as let in unless nothing signed is.
func (v view) unlisted(p firewall.Port) bool {
	if len(v.service(p).programs) > 0 {
		return yes(v.state.AllowSigned)
	}
	return v.state.AllowSigned == nil || v.state.AllowSignedApp == nil || yes(v.state.AllowSigned) || yes(v.state.AllowSignedApp)
}

// blocked shows a name in a command only where that is safe to copy.
func blocked(app socketfilterfw.App) firewall.Ruling {
	name := sanitize.Text(app.Name, 120)
	r := firewall.Ruling{
		Verdict: firewall.Denied, Rule: "its list blocks " + name,
		Fix: "Let it in: System Settings, Network, Firewall, Options.",
	}
	if plain(name) {
		r.Fix = "Let it in: sudo " + socketfilterfw.Program + " --unblockapp " + name + "."
	}
	return r
}

func yes(b *bool) bool { return b != nil && *b }
