// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"strings"
	"testing"

	"sentinel/internal/fault"
)

const unsafeFix = "Leave it reachable, or block it at the console with: sudo sentinel --block-ip 203.0.113.7 --force"

func typed(t *testing.T, args ...string) invocation {
	t.Helper()
	call, err := parse(args)
	if err != nil {
		t.Fatal(err)
	}
	return call
}

// A model does what a fix says. It must not be told how to override a rule.
func TestAProgramIsNotToldToUseForce(t *testing.T) {
	call := typed(t, "--request", "block_ip_address")
	for _, fix := range []string{unsafeFix, "End it from another session, or add --force on the command line.", "Use --force"} {
		for _, code := range []fault.Code{fault.ProtectedAddress, fault.ProtectedProcess, fault.ProtectedService, fault.Unavailable} {
			got := fault.From(Program{}.worded(call, fault.New(code, "No.").WithFix(fix))).Fix
			if strings.Contains(got, "--force") || !strings.HasPrefix(got, "Only a person at a console of this machine can override this. ") {
				t.Errorf("%s: %q", code, got)
			}
		}
	}
	for _, i := range fault.All() {
		if strings.Contains(i.Fix, "--force") {
			t.Errorf("the usual fix of %s speaks of force: %s", i.Code, i.Fix)
		}
	}
	if got := fault.From(Program{}.worded(call, fault.New(fault.NotBlocked, "No.").WithFix("Look."))).Fix; got != "Look." {
		t.Errorf("another fix became %q", got)
	}
}

func TestAPersonGetsTheTypedCommandWithForce(t *testing.T) {
	call := typed(t, "--block-ip", "203.0.113.7", "--dry-run", "--ttl", "24h")
	got := fault.From(Program{}.worded(call, fault.New(fault.ProtectedAddress, "No.").WithFix(unsafeFix))).Fix
	if want := "Leave it reachable, or block it at the console with: sudo sentinel --block-ip 203.0.113.7 --ttl 24h --dry-run --force"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// sudo does not find a program in a directory of its own.
func TestAFixNamesAProgramThatSudoDoesNotFind(t *testing.T) {
	for own, want := range map[string]string{
		"/usr/local/bin/sentinel":   "Run it with sudo: sudo sentinel --kill 5",
		"/opt/sentinel/sentinel":    "Run it with sudo: sudo /opt/sentinel/sentinel --kill 5",
		"/home/ann/my bin/sentinel": "Run it with sudo: sudo sentinel --kill 5",
	} {
		p := Program{Own: func() (string, error) { return own, nil }}
		if got := p.named("Run it with sudo: sudo sentinel --kill 5"); got != want {
			t.Errorf("%s: %q, want %q", own, got, want)
		}
	}
	lost := Program{Own: func() (string, error) { return "", errors.New("gone") }}
	if got := lost.named("Run: sentinel --help"); got != "Run: sentinel --help" {
		t.Errorf("%q", got)
	}
}

// A command that was wrapped cannot be pasted.
func TestTheCommandOfAFixIsOneLine(t *testing.T) {
	command := "sudo install -o root -g root -m 755 " + strings.Repeat("/a/long/path ", 10) + "/usr/local/bin"
	for fix, want := range map[string]string{
		"Install both: " + command: "Install both:\n" + command + "\n",
		command:                    command + "\n",
		"Run: sentinel --help":     "Run:\nsentinel --help\n",
		"Use one of: get_x, get_y": "Use one of: get_x, get_y\n",
		"Wait a minute.":           "Wait a minute.\n",
	} {
		p := newPage(80, false)
		p.fix(fix)
		if got := string(p.bytes()); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A caller of the tool may have no shell.
func TestAToolIsToldWhatToCall(t *testing.T) {
	err := fault.New(fault.ServiceNotFound, "No.").WithFix("Type: systemctl").WithToolFix("Call restart_service.")
	for want, call := range map[string]invocation{
		"Call restart_service.": typed(t, "--request", "restart_service"), "Type: systemctl": typed(t, "--restart-service", "x"),
	} {
		if got := fault.From(Program{}.worded(call, err)).Fix; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
