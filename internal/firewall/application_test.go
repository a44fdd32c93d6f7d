// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"sentinel/internal/fault"
)

func TestApplicationFirewallDecidesOnMacOS(t *testing.T) {
	drops := []Chain{{Table: "t", Name: "in", Input: true, DropPolicy: true}}
	for name, c := range map[string]struct {
		app  Application
		want Status
	}{
		"on":            {Application{On: true}, Status{Active, "the Application Firewall is on"}},
		"off":           {Application{Beside: "pf is enabled"}, Status{Disabled, "the Application Firewall is off; pf is enabled"}},
		"blocks all":    {Application{On: true, BlocksAll: true}, Status{Active, "the Application Firewall is on and blocks all incoming connections"}},
		"would block":   {Application{BlocksAll: true}, Status{Disabled, "the Application Firewall is off"}},
		"forbidden":     {Application{Unreadable: fmt.Errorf("x: %w", fs.ErrPermission), On: true}, Status{Unknown, "the state of the Application Firewall is not readable without root"}},
		"out of time":   {Application{Unreadable: context.DeadlineExceeded}, Status{Unknown, "the state of the Application Firewall did not answer in time"}},
		"another error": {Application{Unreadable: errors.New("odd"), Beside: "pf is disabled"}, Status{Unknown, "the state of the Application Firewall could not be read: odd; pf is disabled"}},
	} {
		if got := Assess(Facts{Application: &c.app, Chains: drops, Managers: []string{UFW}}); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestWhatBecomesOfProgramsWithoutARule(t *testing.T) {
	yes, no := true, false
	for name, c := range map[string]struct {
		signed, app *bool
		says        string
	}{
		"both":     {&yes, &yes, "Programs that are signed stay reachable"},
		"built-in": {&yes, &no, "Programs of macOS stay reachable"},
		"neither":  {&no, &no, "those of macOS too"},
		"unknown":  {&yes, nil, "macOS may ask"},
	} {
		if got := (Application{AllowSigned: c.signed, AllowSignedApp: c.app}).unlisted(); !strings.Contains(got, c.says) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// What the platform knows to be done about it is what the caller reads.
func TestFixOfTheCauseIsTheFix(t *testing.T) {
	told := fault.New(fault.FirewallUnavailable, "A profile decides.").WithFix("Ask whose profile it is.")
	h := newMachine()
	h.name, h.enableErr = ApplicationFirewall, told
	h.rules[tcp(25)] = Open
	_, err := plan(t, h, EnableOptions{}).Do(t.Context())
	var got *fault.Error
	if !errors.As(err, &got) || got.Code != fault.FirewallFailed || got.Fix != told.Fix || !strings.Contains(got.Message, "The Application Firewall could not be switched on: A profile decides.") {
		t.Errorf("%+v", err)
	}
	h = newMachine()
	h.facts = Facts{Application: &Application{Unreadable: told}}
	if _, err := PlanEnable(t.Context(), h, h, EnableOptions{}); !errors.Is(err, told) {
		t.Errorf("%v", err)
	}
}
