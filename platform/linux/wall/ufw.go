// SPDX-License-Identifier: Apache-2.0

//go:build linux

package wall

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sentinel/internal/firewall"
	"sentinel/internal/sysexec"
	"sentinel/platform/linux/hostfile"
)

const (
	ufwUnit          = "ufw.service"
	ufwConfiguration = "/etc/ufw/ufw.conf"
	ufwDefaults      = "/etc/default/ufw"
)

// A ufw switches ufw on, and remembers what it did.
type ufw struct {
	w       *Wall
	added   []firewall.Port
	enabled bool // switched on by us
	unit    bool // enabled at boot by us
}

var _ firewall.Manager = (*ufw)(nil)

// Name implements [firewall.Manager].
func (*ufw) Name() string { return firewall.UFW }

// Rules implements [firewall.Manager].
func (u *ufw) Rules(ctx context.Context) (firewall.Rules, error) {
	out, err := u.w.run(ctx, askLimit, ufwProgram, "show", "added")
	if err != nil {
		return nil, err
	}
	rules := parseAdded(out)
	if u.w.ufwSetting(ufwDefaults, "DEFAULT_INPUT_POLICY") == "accept" {
		rules = append(rules, rule{accept: true})
	}
	return func(p firewall.Port) firewall.Verdict { return verdict(rules, p) }, nil
}

// Enable implements [firewall.Manager]. A port that is let in already keeps its
// rule: "ufw allow" would replace a "limit" of the owner.
func (u *ufw) Enable(ctx context.Context, ports []firewall.Port) error {
	rules, err := u.Rules(ctx)
	if err != nil {
		return err
	}
	for _, p := range ports {
		if rules(p) == firewall.Open {
			continue
		}
		u.added = append(u.added, p)
		if _, err := u.w.run(ctx, changeLimit, ufwProgram, "allow", p.String()); err != nil {
			return err
		}
	}
	u.enabled = !u.w.ufwEnabled()
	_, err = u.w.run(ctx, changeLimit, ufwProgram, "--force", "enable")
	return err
}

// Admits implements [firewall.Manager].
func (u *ufw) Admits(ctx context.Context, ports []firewall.Port) error {
	out, err := u.w.run(ctx, askLimit, ufwProgram, "status", "verbose")
	if err != nil {
		return err
	}
	s := parseStatus(out)
	if !s.active {
		return errors.New("ufw says that it is not active")
	}
	for _, p := range ports {
		if !s.admits(p) {
			return fmt.Errorf("the rules of ufw do not let %s in", p)
		}
	}
	return nil
}

// Keep implements [firewall.Manager]. "ufw enable" notes in its configuration
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

// Undo implements [firewall.Manager].
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

func (w *Wall) ufwEnabled() bool { return w.ufwSetting(ufwConfiguration, "ENABLED") == "yes" }

// ufwSetting reads an assignment from a file of ufw, in lower case
// (ufw-framework(8)); empty when it is not there.
func (w *Wall) ufwSetting(path, key string) string {
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
func (w *Wall) run(ctx context.Context, limit time.Duration, program string, args ...string) ([]byte, error) {
	r, err := w.runner.Run(ctx, sysexec.Command{Path: program, Args: args, Timeout: limit, MaxOutput: maxPrinted})
	if err != nil {
		return nil, err
	}
	if r.Exit != 0 {
		said := r.Stderr
		if len(said) == 0 {
			said = r.Stdout
		}
		return nil, fmt.Errorf("%s %s ended with status %d: %s", program, strings.Join(args, " "), r.Exit, firstLine(said))
	}
	return r.Stdout, nil
}
