// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/nftables"

	"sentinel/internal/firewall"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// TestMain lets this binary be sentinel, as far as trials go: one run that
// switches the firewall on and then hangs, and one that ends the trial later.
func TestMain(m *testing.M) {
	var err error
	switch {
	case len(os.Args) > 1 && os.Args[1] == "--restore-blocklist":
		err = restore(os.Args[2:])
	case len(os.Args) > 1 && os.Args[1] == "--fix-firewall":
		err = fixFirewall(os.Args[2])
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// restore ends the trial, after the seconds that the last argument says.
func restore(args []string) error {
	m := NewManager(sysexec.Host{})
	if len(args) > 0 {
		m.units = quiet{}
		seconds, err := strconv.Atoi(args[len(args)-1])
		if err != nil {
			return err
		}
		<-time.After(time.Duration(seconds) * time.Second)
	}
	_, err := trials(m, 0).End(context.Background(), false)
	return err
}

// fixFirewall begins a trial of the own rules and hangs: once they are loaded, or
// before.
func fixFirewall(when string) error {
	m := NewManager(sysexec.Host{})
	m.units, m.installed = quiet{}, func(string) bool { return false }
	source := NewSource("/", sysexec.Host{})
	plan, err := firewall.PlanEnable(context.Background(), source, plain{m}, firewall.EnableOptions{Trials: trials(m, shortTrial)})
	if err != nil {
		return err
	}
	hang := func() {
		os.Stdout.WriteString("ready\n")
		select {}
	}
	if when == "before" {
		m.rules.dial = func() (*nftables.Conn, error) { hang(); return nil, nil }
	}
	if _, err := plan.Do(context.Background()); err != nil {
		return err
	}
	hang()
	return nil
}

func TestOwnRulesGoByThemselvesAlthoughTheCallerIsKilled(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	m := newPlain(t)
	here := newNeighbour(t, 1)
	serve(t, "2222")
	serve(t, "8080")
	for _, when := range []string{"before", "after"} {
		caller := exec.Command(os.Args[0], "--fix-firewall", when)
		caller.Stderr = os.Stderr
		out, err := caller.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := caller.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Fatalf("%s: %q, %v", when, line, err)
		}
		current, err := trials(m.Manager, 0).Current()
		if err != nil || current == nil || current.Over() {
			t.Errorf("%s: the trial is %+v, %v", when, current, err)
		}
		caller.Process.Kill()
		caller.Wait()
		here.reaches("2222", true)
		here.reaches("8080", when == "before")
		if when == "after" {
			if again := try(t, kernel(t), m, time.Hour); again.Changed || again.ConfirmWithin == 0 {
				t.Errorf("a repetition: %+v", again)
			}
		}
		noTrial(t, m.Manager)
		here.reaches("8080", true)
		if out := command(t, "nft list ruleset"); out != "" {
			t.Errorf("%s: left behind:\n%s", when, out)
		}
	}
}

func TestOwnRulesThatAreConfirmedStay(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	m, source := newPlain(t), kernel(t)
	here := newNeighbour(t, 1)
	serve(t, "2222")
	serve(t, "8080")
	if _, err := do(t, source, m, firewall.EnableOptions{Confirm: true, Trials: trials(m.Manager, 0)}); err == nil {
		t.Error("confirmed without a trial")
	}
	here.reaches("8080", true)
	try(t, source, m, time.Hour)
	if _, err := os.Stat(StatePath); err == nil {
		t.Error("rules on trial come back after a reboot")
	}
	if restored, err := m.Restore(t.Context(), source); restored || err != nil {
		t.Errorf("restored %v, %v", restored, err)
	}
	if kept, err := do(t, source, m, firewall.EnableOptions{Confirm: true, Trials: trials(m.Manager, 0)}); err != nil || !kept.Changed || kept.ConfirmWithin != 0 {
		t.Errorf("confirmed: %+v, %v", kept, err)
	}
	if said, err := trials(m.Manager, 0).End(t.Context(), false); said != "" || err != nil {
		t.Errorf("the time is over: %q, %v", said, err)
	}
	here.reaches("2222", true)
	here.reaches("8080", false)
	if raw, err := os.ReadFile(StatePath); err != nil || string(raw) != `{"version":1,"allow":["2222/tcp"]}`+"\n" {
		t.Errorf("state %q, %v", raw, err)
	}
}

// Somebody else's rules, or what another tool loads again, say nothing of the change that is confirmed.
func TestOwnRulesAreConfirmedOnlyAsTheyAre(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	m, source := newPlain(t), kernel(t)
	serve(t, "2222")
	try(t, source, m, time.Hour)
	flush(t)
	command(t, "nft add table inet theirs")
	command(t, "nft add chain inet theirs in { type filter hook input priority 0 ; policy drop ; }")
	confirm := firewall.EnableOptions{Confirm: true, Trials: trials(m.Manager, 0)}
	if kept, err := do(t, source, m, confirm); err == nil || !strings.Contains(err.Error(), "does not show any more") {
		t.Errorf("rules that are gone: %+v, %v", kept, err)
	}
	if _, err := confirm.Trials.End(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	flush(t)

	enable(t, source, m)
	saved := command(t, "nft list ruleset")
	disable := func(o firewall.DisableOptions) (firewall.Disablement, error) {
		d, err := firewall.PlanDisable(t.Context(), source, m, o)
		if err != nil {
			t.Fatal(err)
		}
		return d.Do(t.Context())
	}
	if _, err := disable(firewall.DisableOptions{Trials: trials(m.Manager, time.Hour)}); err != nil {
		t.Fatal(err)
	}
	load := exec.Command(testenv.Program(t, "nft", "nftables"), "-f", "-")
	load.Stdin = strings.NewReader(saved)
	if out, err := load.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	confirmed := firewall.DisableOptions{Confirm: true, Trials: trials(m.Manager, 0)}
	if done, err := disable(confirmed); err == nil || !strings.Contains(err.Error(), "is on again: the table sentinel_firewall is loaded") || !m.Kept() {
		t.Errorf("rules that are back: %+v, %v, kept %v", done, err, m.Kept())
	}
	flush(t)
	if _, err := disable(confirmed); err != nil || m.Kept() {
		t.Errorf("rules that are gone again: %v, kept %v", err, m.Kept())
	}
}
