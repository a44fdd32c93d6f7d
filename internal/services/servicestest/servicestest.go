// SPDX-License-Identifier: Apache-2.0

// Package servicestest holds what every service manager must do, whichever system
// it is of.
package servicestest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/services"
)

// A Situation is a service that is restarted, and what must come of it. It was
// running, but where it says otherwise.
type Situation struct {
	Name   string
	Code   fault.Code
	Says   string   // part of the message
	States []string // of which it ends in one; none for a restart that is refused
	Limit  time.Duration
	Alive  bool // it has another process in the end
}

// Situations are what a manager has to be shown in. It may be short of none.
func Situations() []Situation {
	return []Situation{
		{Name: "stays up", Says: "was restarted and is active", States: []string{"active"}, Alive: true},
		{Name: "is off and wanted", Says: "was restarted and is active", States: []string{"active"}, Alive: true},
		{Name: "takes a while to stop", Says: "was restarted and is active", States: []string{"active"}, Alive: true},
		{Name: "does its work while it is off", Says: "ended with success", States: []string{"inactive"}},
		{Name: "dies with status 3", Code: fault.RestartFailed, Says: "died right after the restart (exit status 3)", States: []string{"failed"}},
		{Name: "dies by SIGKILL", Code: fault.RestartFailed, Says: "(SIGKILL)", States: []string{"failed"}},
		{Name: "ends with success", Code: fault.RestartFailed, Says: "ended by itself", States: []string{"inactive"}},
		{Name: "keeps dying", Code: fault.RestartFailed, Says: "die", States: []string{"active", "activating", "failed"}},
		{Name: "does not stop", Code: fault.Timeout, Says: "has not settled within 2 s: it is deactivating", States: []string{"deactivating"}, Limit: 2 * time.Second},
		{Name: "is off and not wanted", Code: fault.ServiceInactive, Says: "restarting it would start a service that is switched off"},
		{Name: "is not there", Code: fault.ServiceNotFound, Says: "There is no service"},
	}
}

// Check restarts the service that is in a situation, and looks at what comes of
// it.
func (s Situation) Check(t *testing.T, source services.Source, service string) {
	t.Helper()
	got, err := restart(t.Context(), t, source, services.Options{Name: service, Limit: s.Limit, Settle: 2500 * time.Millisecond})
	message := got.Message
	if err != nil {
		message = err.Error()
	}
	if code(err) != s.Code || !strings.Contains(message, s.Says) {
		t.Errorf("%s: %s %q, want %s %q", s.Name, code(err), message, s.Code, s.Says)
	}
	if len(s.States) > 0 && !slices.Contains(s.States, got.State.Active) || len(s.States) == 0 && got.Label != "" {
		t.Errorf("%s: %+v", s.Name, got)
	}
	if s.Alive != (got.State.MainPID != 0 && s.Code == "") || got.Pending != (s.Code == fault.Timeout) {
		t.Errorf("%s: %+v", s.Name, got)
	}
	if told := s.Code == fault.RestartFailed || s.Code == fault.Timeout; told != (len(got.Log) > 0) || err != nil && fault.NewDocument("", err).Fix == "" {
		t.Errorf("%s: log %q, %v", s.Name, got.Log, err)
	}
	cancelled(t, source, service)
}

// restart plans and does.
func restart(ctx context.Context, t *testing.T, source services.Source, o services.Options) (services.Restarted, error) {
	t.Helper()
	plan, err := services.PlanRestart(ctx, source, o)
	if err != nil {
		return services.Restarted{}, err
	}
	defer plan.Close()
	if !strings.HasPrefix(plan.Summary(), plan.Name()) || !strings.Contains(plan.Look(), plan.Name()) {
		t.Errorf("%q, %q of %s", plan.Summary(), plan.Look(), plan.Name())
	}
	return plan.Do(ctx)
}

// cancelled makes sure that a call that is cancelled before it begins changes
// nothing.
func cancelled(t *testing.T, source services.Source, service string) {
	t.Helper()
	plan, err := services.PlanRestart(t.Context(), source, services.Options{Name: service})
	if err != nil {
		return
	}
	defer plan.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := plan.Do(ctx); !errors.Is(err, context.Canceled) || got.Pending {
		t.Errorf("cancelled: %+v, %v", got, err)
	}
}

func code(err error) fault.Code {
	if err == nil {
		return ""
	}
	return fault.From(err).Code
}
