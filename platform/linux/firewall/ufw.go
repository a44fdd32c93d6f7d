// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"sentinel/internal/firewall"
	"sentinel/internal/sysexec"
	"sentinel/platform/unix/hostfile"
)

const (
	ufwUnit          = "ufw.service"
	ufwConfiguration = "/etc/ufw/ufw.conf"
	ufwDefaults      = "/etc/default/ufw"
)

// maxProfiles bounds how many application profiles are looked up.
const maxProfiles = 16

// A ufw switches ufw on, and remembers what it did.
type ufw struct {
	w       *Manager
	before  snapshot // the rules that were loaded before
	added   []firewall.Port
	enabled bool // switched on by us
	unit    bool // enabled at boot by us
}

var _ firewall.Backend = (*ufw)(nil)

// Name implements [firewall.Backend].
func (*ufw) Name() string { return firewall.UFW }

// Rules implements [firewall.Backend]. Where ufw is not to filter IPv6 it drops
// all of it, so peers that use it are shut out.
func (u *ufw) Rules(ctx context.Context, peers []netip.Addr) (firewall.Rules, error) {
	rules, err := u.rules(ctx)
	if err != nil {
		return nil, err
	}
	v6 := slices.ContainsFunc(peers, netip.Addr.Is6) && u.dropsIPv6()
	return func(p firewall.Port) firewall.Ruling {
		d := decide(rules, p, peers)
		if d.by == nil && v6 {
			return firewall.Ruling{
				Verdict: firewall.Refused, Rule: "a session is open over IPv6, all of which ufw drops by " + ufwDefaults,
				Fix: "Put IPV6=yes into " + ufwDefaults + " first.",
			}
		}
		return d.ruling()
	}, nil
}

func (u *ufw) dropsIPv6() bool { return u.w.ufwSetting(ufwDefaults, "IPV6") != "yes" }

// rules reads those of the owner, and what becomes of the rest.
func (u *ufw) rules(ctx context.Context) ([]rule, error) {
	out, err := u.w.run(ctx, askLimit, ufwProgram, "show", "added")
	if err != nil {
		return nil, err
	}
	rules := parseAdded(out)
	u.profiles(ctx, rules)
	if u.w.ufwSetting(ufwDefaults, "DEFAULT_INPUT_POLICY") == "accept" {
		rules = append(rules, rule{accept: true})
	}
	return rules, nil
}

// profiles looks up the ports of application profiles. One that cannot be looked
// up stays one that could have any.
func (u *ufw) profiles(ctx context.Context, rules []rule) {
	known := map[string]spans{}
	for i, r := range rules {
		if r.app == "" || r.app[0] == '-' || len(known) >= maxProfiles {
			continue
		}
		name, _, _ := strings.Cut(r.app, "/")
		if _, ok := known[name]; !ok {
			out, err := u.w.run(ctx, askLimit, ufwProgram, "app", "info", name)
			if err == nil {
				known[name] = parseProfile(out)
			}
		}
		if found := known[name]; found != nil {
			rules[i].ports, rules[i].app = found, ""
		}
	}
}

// Enable implements [firewall.Backend]. A port that is let in already keeps its
// rule: "ufw allow" would replace a "limit" of the owner, and a "deny" as well.
func (u *ufw) Enable(ctx context.Context, ports []firewall.Port) error {
	rules, err := u.rules(ctx)
	if err != nil {
		return err
	}
	for _, p := range ports {
		d := decide(rules, p, nil)
		if d.verdict == firewall.Open || d.by != nil && d.by.scope == forEveryone {
			continue
		}
		if err := u.allow(ctx, p, d.first); err != nil {
			return err
		}
	}
	if u.before, err = u.w.snapshot(ctx); err != nil {
		return err
	}
	u.enabled = !u.w.ufwEnabled()
	_, err = u.w.run(ctx, changeLimit, ufwProgram, "--force", "enable")
	return err
}

func (u *ufw) allow(ctx context.Context, p firewall.Port, first bool) error {
	args := []string{"allow", p.String()}
	if first {
		args = append([]string{"prepend"}, args...)
	}
	u.added = append(u.added, p)
	_, err := u.w.run(ctx, changeLimit, ufwProgram, args...)
	return err
}

// Admits implements [firewall.Backend]. It asks the kernel: there is more to ufw
// than the rules that it shows, such as /etc/ufw/before.rules.
func (u *ufw) Admits(ctx context.Context, ports []firewall.Port, peers []netip.Addr) error {
	out, err := u.w.run(ctx, askLimit, ufwProgram, "status")
	if err != nil {
		return err
	}
	if !strings.HasPrefix(string(out), "Status: active") {
		return errors.New("ufw says that it is not active")
	}
	now, err := u.w.snapshot(ctx)
	if err != nil {
		return err
	}
	if u.dropsIPv6() {
		delete(now, saveProgram6)
	}
	return now.verified(ports, peers, u.before)
}

// Keep implements [firewall.Backend]. "ufw enable" notes in its configuration
// that it is on; its unit loads the rules at boot.
func (u *ufw) Keep(ctx context.Context) (bool, string) {
	switch {
	case !u.w.ufwEnabled():
		return false, ufwConfiguration + " says that ufw is off"
	case !u.w.units.running():
		return false, "systemd does not run here, and what else starts " + ufwUnit + " is not known"
	case u.w.units.state(ctx, ufwUnit).enabled:
		return true, ""
	}
	if err := u.w.units.enable(ctx, ufwUnit); err != nil {
		return false, err.Error()
	}
	u.unit = true
	return true, ""
}

// Undo implements [firewall.Backend].
func (u *ufw) Undo(ctx context.Context) error {
	var failed []error
	if u.enabled {
		_, err := u.w.run(ctx, changeLimit, ufwProgram, "--force", "disable")
		failed = append(failed, err)
	}
	for _, p := range u.added {
		_, err := u.w.run(ctx, changeLimit, ufwProgram, "delete", "allow", p.String())
		failed = append(failed, err)
	}
	if u.unit {
		failed = append(failed, u.w.units.disable(ctx, ufwUnit))
	}
	return errors.Join(failed...)
}

func (w *Manager) ufwEnabled() bool { return w.ufwSetting(ufwConfiguration, "ENABLED") == "yes" }

// ufwSetting reads an assignment from a file of ufw, in lower case
// (ufw-framework(8)); empty when it is not there.
func (w *Manager) ufwSetting(path, key string) string {
	raw, err := hostfile.Read(path, 64<<10)
	if err != nil {
		return ""
	}
	found := ""
	for line := range strings.Lines(string(raw)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), key+"="); ok {
			found = strings.Trim(strings.ToLower(value), `"'`)
		}
	}
	return found
}

// run runs a manager and returns what it printed; ending with another status
// than 0 is an error with its own words.
func (w *Manager) run(ctx context.Context, limit time.Duration, program string, args ...string) ([]byte, error) {
	r, err := w.runner.Run(ctx, sysexec.Command{Path: program, Args: args, Timeout: limit, MaxOutput: maxPrinted})
	if err != nil {
		return nil, err
	}
	if r.Exit != 0 {
		said := r.Stderr
		if len(said) == 0 {
			said = r.Stdout
		}
		return nil, &ended{program + " " + strings.Join(args, " "), r.Exit, firstLine(said)}
	}
	return r.Stdout, nil
}

// An ended program did not do what it was run for.
type ended struct {
	command string
	status  int
	said    string
}

func (e *ended) Error() string {
	return fmt.Sprintf("%s ended with status %d: %s", e.command, e.status, e.said)
}
