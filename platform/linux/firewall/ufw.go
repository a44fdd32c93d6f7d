// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"sentinel/internal/firewall"
	"sentinel/platform/unix/hostfile"
)

const (
	ufwUnit = "ufw.service"
	// ufwInit loads and unloads the rules, and leaves alone whether they come at
	// boot (ufw-framework(8)).
	ufwInit          = "/usr/lib/ufw/ufw-init"
	ufwConfiguration = "etc/ufw/ufw.conf"
	ufwDefaults      = "etc/default/ufw"
	// maxConfiguration bounds a file of ufw, in bytes; they have some hundreds.
	maxConfiguration = 64 << 10
)

// A ufw switches ufw on, and remembers what it changes.
type ufw struct {
	m      *Manager
	change firewall.Change
}

var _ firewall.Backend = (*ufw)(nil)

// Name implements [firewall.Backend].
func (*ufw) Name() string { return firewall.UFW }

// Rules implements [firewall.Backend].
func (u *ufw) Rules(ctx context.Context) (firewall.Rules, error) {
	rules, err := u.rules(ctx)
	if err != nil {
		return firewall.Rules{}, err
	}
	list := firewall.Rules{For: func(p firewall.Port) firewall.Ruling { return decide(rules, p) }}
	for _, r := range rules {
		if r.ports == nil && !r.everything {
			list.Unread = append(list.Unread, r.text)
		}
	}
	if ufwSetting("/", ufwDefaults, "DEFAULT_INPUT_POLICY") == "accept" {
		list.For = func(p firewall.Port) firewall.Ruling {
			if r := decide(rules, p); r.Verdict == firewall.Denied {
				return r
			}
			return firewall.Ruling{Verdict: firewall.Open}
		}
	}
	return list, nil
}

func (u *ufw) rules(ctx context.Context) ([]ufwRule, error) {
	out, err := u.m.run(ctx, askLimit, ufwProgram, "show", "added")
	return parseAdded(out), err
}

// Enable implements [firewall.Backend]. A port that is let in already keeps its
// rule: "ufw allow" would replace a "limit" of the owner, and a "deny" as well.
func (u *ufw) Enable(ctx context.Context, ports []firewall.Port, note func(firewall.Change) error) error {
	rules, err := u.rules(ctx)
	if err != nil {
		return err
	}
	c := firewall.Change{Manager: firewall.UFW, WasEnabled: ufwEnabled("/")}
	for _, p := range ports {
		if decide(rules, p).Verdict == firewall.Closed {
			c.Openings = append(c.Openings, firewall.Opening{Port: p})
		}
	}
	if err := note(c); err != nil {
		return err
	}
	u.change = c
	for _, o := range c.Openings {
		args := []string{"allow", o.String()}
		if deniesRest(rules) {
			args = slices.Insert(args, 0, "prepend")
		}
		if _, err := u.m.run(ctx, changeLimit, ufwProgram, args...); err != nil {
			return err
		}
	}
	_, err = u.m.run(ctx, changeLimit, ufwProgram, "--force", "enable")
	return err
}

// Admits implements [firewall.Backend].
func (u *ufw) Admits(ctx context.Context, _ []firewall.Port) error {
	out, err := u.m.run(ctx, askLimit, ufwProgram, "status")
	if err == nil && !strings.HasPrefix(string(out), "Status: active") {
		err = errors.New("ufw says that it is not active")
	}
	return err
}

// Keep implements [firewall.Backend]. "ufw enable" notes in its configuration
// that it is on; its unit loads the rules at boot.
func (u *ufw) Keep(ctx context.Context) (bool, string) {
	switch {
	case !ufwEnabled("/"):
		return false, "/" + ufwConfiguration + " says that ufw is off"
	case !u.m.units.Running():
		return false, "systemd does not run here, and what else starts " + ufwUnit + " is not known"
	}
	return u.m.startAtBoot(ctx, ufwUnit)
}

// Undo implements [firewall.Backend]. A ufw that was set to start at boot before
// stays so, and only its rules are unloaded.
func (u *ufw) Undo(ctx context.Context) error {
	var failed []error
	switch {
	case u.change.Manager == "" || u.change.WasEnabled && u.change.Rebooted:
	case u.change.WasEnabled && u.m.installed(ufwInit):
		_, err := u.m.run(ctx, changeLimit, ufwInit, "stop")
		failed = append(failed, err)
	default:
		_, err := u.m.run(ctx, changeLimit, ufwProgram, "--force", "disable")
		failed = append(failed, err)
	}
	for _, o := range u.change.Openings {
		_, err := u.m.run(ctx, changeLimit, ufwProgram, "delete", "allow", o.String())
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// ufwEnabled says whether the ufw of the system below root is to be on. Everyone
// may read that.
func ufwEnabled(root string) bool { return ufwSetting(root, ufwConfiguration, "ENABLED") == "yes" }

// ufwSetting reads an assignment from a file of ufw, in lower case
// (ufw-framework(8)); empty when it is not there.
func ufwSetting(root, path, key string) string {
	raw, err := hostfile.Read(filepath.Join(root, path), maxConfiguration)
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
