// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sentinel/internal/atomicfile"
	"sentinel/internal/firewall"
	"sentinel/platform/unix/hostfile"
)

const (
	ufwUnit          = "ufw.service"
	ufwConfiguration = "etc/ufw/ufw.conf"
	ufwDefaults      = "etc/default/ufw"
	// maxConfiguration bounds a file of ufw, in bytes; they have some hundreds.
	maxConfiguration = 64 << 10
)

// ufwInit is the script with which ufw loads and unloads its rules, where the
// distributions have it. It writes no file.
var ufwInit = []string{"/lib/ufw/ufw-init", "/usr/libexec/ufw/ufw-init"}

// A ufw switches ufw on, and remembers what it changes.
type ufw struct {
	m      *Manager
	change firewall.Change
	untaken
}

var (
	_ firewall.Backend   = (*ufw)(nil)
	_ firewall.Forgetful = (*ufw)(nil)
)

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
	for _, name := range []string{"before.rules", "before6.rules"} {
		raw, err := hostfile.Read(filepath.Join(u.m.root, "etc/ufw", name), maxConfiguration)
		if err != nil && !hostfile.Missing(err) {
			return firewall.Rules{}, fmt.Errorf("/etc/ufw/%s: %w", name, hostfile.Reason(err))
		}
		for _, p := range acceptedProtocols(raw) {
			list.Unread = append(list.Unread, "in "+name+", protocol "+p.Protocol)
		}
		for _, rule := range droppingRules(raw) {
			list.Drops = append(list.Drops, "in "+name+", "+rule)
		}
	}
	if ufwSetting(u.m.root, ufwDefaults, "DEFAULT_INPUT_POLICY") == "accept" {
		list.For = func(p firewall.Port) firewall.Ruling {
			if r := decide(rules, p); r.Verdict == firewall.Denied {
				return r
			}
			return firewall.Ruling{Verdict: firewall.Open}
		}
	}
	if !ufwTakesIPv6(u.m.root) {
		list.IPv6 = firewall.Ruling{
			Verdict: firewall.Denied, Rule: "without IPV6=yes in /" + ufwDefaults + " it drops all packets of IPv6, in and out",
			Fix: "Set IPV6=yes in /" + ufwDefaults + ". Rules that ufw was told before are about IPv4 alone (ufw show added): tell it again.",
		}
	}
	if !forwards(u.m.root) {
		return list, nil
	}
	if list.Forwarded = ufwSetting(u.m.root, ufwDefaults, "DEFAULT_FORWARD_POLICY") != "accept"; list.Forwarded {
		return list, nil
	}
	dropped, err := u.m.forwardDropped(ctx)
	list.ForwardsAll = len(dropped) > 0
	return list, err
}

func (u *ufw) rules(ctx context.Context) ([]ufwRule, error) {
	out, err := u.m.runUFW(ctx, askLimit, "show", "added")
	return parseAdded(out), err
}

// Enable implements [firewall.Backend]. A port that is let in already keeps its
// rule: "ufw allow" would replace a "limit" of the owner, and a "deny" as well. A ufw that is
// enabled without having its rules loaded takes no new ones, so it is disabled first.
func (u *ufw) Enable(ctx context.Context, ports []firewall.Port, note func(firewall.Change) error) error {
	rules, err := u.rules(ctx)
	if err != nil {
		return err
	}
	c := firewall.Change{Manager: firewall.UFW, WasEnabled: ufwEnabled(u.m.root)}
	if c.ForwardDropped, err = u.m.forwardDropped(ctx); err != nil {
		return err
	}
	for _, p := range ports {
		if decide(rules, p).Verdict == firewall.Closed {
			c.Openings = append(c.Openings, firewall.Opening{Port: p})
		}
	}
	if err := note(c); err != nil {
		return err
	}
	u.change = c
	if c.WasEnabled {
		if err := u.disable(ctx); err != nil {
			return err
		}
	}
	if err := u.allow(ctx, rules, c.Openings); err != nil {
		return err
	}
	u.left, err = u.m.takingOver(ctx, func() error { return u.enable(ctx) })
	return err
}

func (u *ufw) enable(ctx context.Context) error {
	_, err := u.m.runUFW(ctx, changeLimit, "--force", "enable")
	return err
}

// Admits implements [firewall.Backend].
func (u *ufw) Admits(ctx context.Context, _ []firewall.Port) error {
	active, err := u.active(ctx)
	if err == nil && !active {
		err = errors.New("ufw says that it is not active")
	}
	return err
}

// InForce implements [firewall.Resumed].
func (u *ufw) InForce(ctx context.Context) error { return u.Admits(ctx, nil) }

// active says whether the rules are loaded.
func (u *ufw) active(ctx context.Context) (bool, error) {
	out, err := u.m.runUFW(ctx, askLimit, "status")
	return strings.HasPrefix(string(out), "Status: active"), err
}

func (u *ufw) disable(ctx context.Context) error {
	_, err := u.m.runUFW(ctx, changeLimit, "--force", "disable")
	return err
}

// stop unloads the rules and disables ufw. "ufw disable" writes the
// configuration first and gives up where it cannot: on a full disk the rules would
// stay. They are unloaded then, and the error remains, so that the next run tries again.
func (u *ufw) stop(ctx context.Context) error {
	err := u.disable(ctx)
	if err != nil {
		err = errors.Join(err, u.runInit(ctx, "force-stop"))
	}
	return err
}

// start enables ufw and loads its rules. It loads them all the same, and reports the error, where ufw
// does not get to do so, as behind another run that has its lock.
func (u *ufw) start(ctx context.Context) error {
	err := u.enable(ctx)
	if err != nil {
		err = errors.Join(err, enableUFW(u.m.root), u.runInit(ctx, "start"))
	}
	return err
}

// runInit does with the rules what action says (ufw-framework(8)), without the lock of ufw.
func (u *ufw) runInit(ctx context.Context, action string) error {
	i := slices.IndexFunc(ufwInit, u.m.installed)
	if i < 0 {
		return nil
	}
	_, err := u.m.run(ctx, changeLimit, ufwInit[i], action)
	return err
}

// Keep implements [firewall.Backend]. "ufw enable" notes in its configuration
// that it is on; its unit loads the rules at boot.
func (u *ufw) Keep(ctx context.Context) (bool, string) {
	switch {
	case !ufwEnabled(u.m.root):
		return false, "/" + ufwConfiguration + " says that ufw is off"
	case !u.m.units.Running():
		return false, "systemd does not run here, and what else starts " + ufwUnit + " is not known"
	}
	return u.m.retire(u.m.startAtBoot(ctx, ufwUnit))
}

// Undo implements [firewall.Backend]. A ufw that was enabled before is enabled
// again, and its rules are not loaded, as they were not before. Those that a reboot has loaded
// since are the owner's will. What was not forwarded before is not forwarded again: ufw leaves
// everything accepted, and others, such as Docker, count on their policy. Where ufw was uninstalled since, nothing is left to undo.
func (u *ufw) Undo(ctx context.Context) error {
	c := u.change
	if c.Manager == "" || !u.m.installed(ufwProgram) {
		return nil
	}
	loaded, err := u.loadedAtBoot(ctx)
	if err != nil {
		return err
	}
	var failed []error
	if !loaded {
		failed = append(failed, u.stop(ctx))
	}
	if !c.Rebooted {
		failed = append(failed, u.m.dropForwarded(ctx, c.ForwardDropped))
	}
	failed = append(failed, u.delete(ctx, c.Openings))
	if c.WasEnabled && !loaded {
		failed = append(failed, enableUFW(u.m.root))
	}
	return errors.Join(failed...)
}

// loadedAtBoot says whether a reboot has loaded the rules since, as the owner had it.
func (u *ufw) loadedAtBoot(ctx context.Context) (bool, error) {
	if !u.change.WasEnabled || !u.change.Rebooted {
		return false, nil
	}
	return u.active(ctx)
}

// enableUFW has ufw load its rules at boot, and not now.
func enableUFW(root string) error {
	path := filepath.Join(root, ufwConfiguration)
	raw, err := hostfile.Read(path, maxConfiguration)
	if err != nil {
		return err
	}
	text := strings.Replace("\n"+string(raw), "\nENABLED=no\n", "\nENABLED=yes\n", 1)
	return atomicfile.Write(path, []byte(text[1:]), 0o644)
}

// ufwEnabled says whether the ufw of the system below root is to be on. Everyone
// may read that.
func ufwEnabled(root string) bool { return ufwSetting(root, ufwConfiguration, "ENABLED") == "yes" }

// ufwTakesIPv6 says whether ufw has rules for IPv6. Without, its script drops all of it. The script takes "yes" and "YES"
// alone (ufw_start in ufw-init-functions), from the last of two files; ufw itself takes any case, and no blanks (_get_defaults in backend.py).
func ufwTakesIPv6(root string) bool {
	yes := false
	for _, path := range []string{ufwDefaults, ufwConfiguration} {
		raw, err := hostfile.Read(filepath.Join(root, path), maxConfiguration)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(raw)) {
			if strings.HasPrefix(strings.TrimSpace(line), "IPV6=") {
				yes = slices.Contains([]string{"IPV6=yes", "IPV6=YES", `IPV6="yes"`, `IPV6="YES"`}, strings.TrimRight(line, " \t\r\n"))
			}
		}
	}
	return yes
}

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
