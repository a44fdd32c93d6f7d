// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/nftables"
	"golang.org/x/sys/unix"

	"sentinel/internal/fault"
	"sentinel/internal/firewall"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/systemd"
)

func TestOwnersChoiceOfManagerIsFollowed(t *testing.T) {
	both := []string{ufwProgram, offlineProgram, clientProgram}
	loadedUnit, enabled, masked := systemd.UnitState{Loaded: true}, systemd.UnitState{Loaded: true, Enabled: true}, systemd.UnitState{Masked: true}
	for name, c := range map[string]struct {
		files []string
		known map[string]systemd.UnitState
		want  string
	}{
		"nothing installed":              {nil, nil, firewall.Nftables},
		"ufw":                            {both[:1], map[string]systemd.UnitState{ufwUnit: enabled}, firewall.UFW},
		"ufw without systemd":            {both[:1], nil, firewall.UFW},
		"ufw masked":                     {both[:1], map[string]systemd.UnitState{ufwUnit: masked}, firewall.Nftables},
		"firewalld":                      {both[1:], map[string]systemd.UnitState{firewalldUnit: loadedUnit}, firewall.Firewalld},
		"firewalld without its client":   {both[1:2], map[string]systemd.UnitState{firewalldUnit: loadedUnit}, firewall.Nftables},
		"firewalld without systemd":      {both[1:], nil, firewall.Nftables},
		"firewalld masked":               {both[1:], map[string]systemd.UnitState{firewalldUnit: masked}, firewall.Nftables},
		"both, neither enabled":          {both, map[string]systemd.UnitState{ufwUnit: loadedUnit, firewalldUnit: loadedUnit}, firewall.UFW},
		"both, firewalld enabled":        {both, map[string]systemd.UnitState{ufwUnit: loadedUnit, firewalldUnit: enabled}, firewall.Firewalld},
		"both, both as they were put in": {both, map[string]systemd.UnitState{ufwUnit: enabled, firewalldUnit: enabled}, firewall.Firewalld},
		"both, firewalld masked":         {both, map[string]systemd.UnitState{ufwUnit: enabled, firewalldUnit: masked}, firewall.UFW},
		"both, firewalld runs":           {both, map[string]systemd.UnitState{ufwUnit: enabled, firewalldUnit: {Loaded: true, Active: true}}, firewall.Firewalld},
		"both, firewalld starts":         {both, map[string]systemd.UnitState{ufwUnit: enabled, firewalldUnit: {Loaded: true, Starting: true}}, firewall.Firewalld},
		"both, both masked":              {both, map[string]systemd.UnitState{ufwUnit: masked, firewalldUnit: masked}, firewall.Nftables},
	} {
		on := machine{files: c.files, known: c.known}
		got, err := on.manager().Backend(t.Context())
		if err != nil || got.Name() != c.want {
			t.Errorf("%s: %v, %v; want %s", name, got, err, c.want)
		}
	}
}

func TestKernelWithoutNftablesHasNoFirewall(t *testing.T) {
	m := (&machine{}).manager()
	m.rules.dial = func() (*nftables.Conn, error) { return nil, unix.EPROTONOSUPPORT }
	_, err := m.Backend(t.Context())
	var known *fault.Error
	if !errors.As(err, &known) || known.Code != fault.FirewallUnavailable || known.Fix == "" {
		t.Errorf("got %v", err)
	}
}

// A script answers commands in order and notes them.
type script struct {
	machine
	fails map[string]sysexec.Result
	said  map[string]string
	ran   []string
}

func (s *script) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	line := strings.Join(append([]string{c.Path}, c.Args...), " ")
	s.ran = append(s.ran, line)
	if c.Timeout <= 0 {
		return sysexec.Result{}, errors.New("no time limit: " + line)
	}
	if r, ok := s.fails[line]; ok {
		return r, nil
	}
	return sysexec.Result{Stdout: []byte(s.said[line])}, nil
}

func (s *script) Start(_ context.Context, name string) error {
	s.ran = append(s.ran, "start "+name)
	return nil
}

func (s *script) StartNow(_ context.Context, name string) error {
	s.ran = append(s.ran, "start now "+name)
	return nil
}

func (s *script) Queue(_ context.Context, name string, start bool) error {
	s.ran = append(s.ran, fmt.Sprintf("queue %s %v", name, start))
	return nil
}

func (s *script) Stop(_ context.Context, name string) error {
	s.ran = append(s.ran, "stop "+name)
	return nil
}

func (s *script) Disable(_ context.Context, name string) error {
	s.ran = append(s.ran, "disable "+name)
	return nil
}

func (s *script) Later(_ context.Context, _ string, after time.Duration, command ...string) error {
	s.ran = append(s.ran, "later "+after.String()+" "+strings.Join(command, " "))
	return nil
}

func (s *script) CancelLater(context.Context) error {
	s.ran = append(s.ran, "cancel")
	return nil
}

func (s *script) manager() *Manager {
	if s.files == nil {
		s.files = []string{ufwProgram, offlineProgram, clientProgram}
	}
	m := s.machine.manager()
	m.runner, m.units = s, s
	m.detach = func(program string, args ...string) error {
		s.ran = append(s.ran, "detach "+program+" "+strings.Join(args, " "))
		return nil
	}
	return m
}

func TestUFWThatFailsIsTakenBackStepByStep(t *testing.T) {
	s := &script{
		said:  map[string]string{"/usr/sbin/ufw show added": "ufw limit 22/tcp\n"},
		fails: map[string]sysexec.Result{"/usr/sbin/ufw --force enable": {Exit: 1, Stderr: []byte("ERROR: problem running ufw-init\nmore\n")}},
	}
	u := &ufw{m: s.manager()}
	var noted firewall.Change
	note := func(c firewall.Change) error {
		noted = c
		return nil
	}
	err := u.Enable(t.Context(), []firewall.Port{tcp(22), tcp(2222)}, note)
	if err == nil || !strings.Contains(err.Error(), "problem running ufw-init") || strings.Contains(err.Error(), "more") {
		t.Errorf("got %v", err)
	}
	if want := (firewall.Change{Manager: firewall.UFW, Openings: []firewall.Opening{{Port: tcp(2222)}}}); !reflect.DeepEqual(noted, want) {
		t.Errorf("noted %+v", noted)
	}
	resumed, err := s.manager().Resume(noted) // as another run does
	if err != nil {
		t.Fatal(err)
	}
	if err := resumed.Undo(t.Context()); err != nil {
		t.Error(err)
	}
	want := []string{"show added", "allow 2222/tcp", "--force enable", "--force disable", "delete allow 2222/tcp"}
	for i := range want {
		want[i] = "/usr/sbin/ufw " + want[i]
	}
	if !slices.Equal(s.ran, want) {
		t.Errorf("ran %q", s.ran)
	}
}

func TestFirewalldThatRunsIsReloaded(t *testing.T) {
	s := &script{said: map[string]string{
		offlineProgram + " --get-default-zone": "public\n", offlineProgram + " --list-all-zones": zoneList,
		offlineProgram + " --info-service=ssh": "ssh\n  ports: 22/tcp\n", offlineProgram + " --info-service=dhcpv6-client": "x\n  ports: 546/udp\n",
	}}
	s.booted, s.known = true, map[string]systemd.UnitState{firewalldUnit: {Loaded: true, Active: true}}
	f := &firewalld{m: s.manager()}
	rules, err := f.Rules(t.Context())
	if err != nil || rules.For(tcp(22)).Verdict != firewall.Open || rules.For(tcp(2222)).Verdict != firewall.Closed || rules.For(tcp(80)).Verdict != firewall.Closed {
		t.Errorf("rules: %v", err)
	}
	if want := "in the zone public, port=80:proto=tcp:toport=8080:toaddr="; len(rules.Unread) != 2 || rules.Unread[0] != want {
		t.Errorf("not read: %q", rules.Unread)
	}
	s.ran = nil
	var noted firewall.Change
	note := func(c firewall.Change) error {
		noted = c
		return nil
	}
	if err := f.Enable(t.Context(), []firewall.Port{tcp(22), tcp(2222)}, note); err != nil {
		t.Fatal(err)
	}
	want := []string{
		clientProgram + " --permanent --zone=public --add-port=2222/tcp",
		clientProgram + " --reload",
	}
	if got := s.ran[len(s.ran)-len(want):]; !slices.Equal(got, want) {
		t.Errorf("ran %q", s.ran)
	}
	s.ran = nil
	resumed, err := s.manager().Resume(noted)
	if err != nil {
		t.Fatal(err)
	}
	if err := resumed.Undo(t.Context()); err != nil || !slices.Equal(s.ran, []string{"stop " + firewalldUnit, clientProgram + " --permanent --zone=public --remove-port=2222/tcp"}) {
		t.Errorf("%v, ran %q", err, s.ran)
	}
	s.ran, noted.Rebooted = nil, true
	if resumed, err = s.manager().Resume(noted); err != nil || resumed.Undo(t.Context()) != nil || len(s.ran) != 1 {
		t.Errorf("after a reboot: %v, ran %q", err, s.ran)
	}
}

func TestUndoOfNothingDoesNothing(t *testing.T) {
	s := &script{}
	refuse := errors.New("no record")
	for name, b := range map[string]firewall.Backend{"ufw": &ufw{m: s.manager()}, "firewalld": &firewalld{m: s.manager()}, "own": &ownRuleset{m: s.manager()}} {
		s.said = map[string]string{offlineProgram + " --get-default-zone": "public\n", offlineProgram + " --list-all-zones": "public\n"}
		s.booted = true
		if err := b.Enable(t.Context(), []firewall.Port{tcp(22)}, func(firewall.Change) error { return refuse }); !errors.Is(err, refuse) {
			t.Errorf("%s: %v", name, err)
		}
		if err := b.Undo(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, line := range s.ran {
		if !strings.Contains(line, "show added") && !strings.Contains(line, "--get-default-zone") && !strings.Contains(line, "--list-all-zones") {
			t.Errorf("ran %s", line)
		}
	}
	if _, err := s.manager().Resume(firewall.Change{Manager: "x"}); err == nil {
		t.Error("a firewall that does not exist is resumed")
	}
}

// A ufw that its owner has enabled stays enabled.
func TestUFWIsUndoneAsFarAsItWasChanged(t *testing.T) {
	change := firewall.Change{Manager: firewall.UFW, WasEnabled: true, Openings: []firewall.Opening{{Port: tcp(22)}}}
	const disable, forget, status = ufwProgram + " --force disable", ufwProgram + " delete allow 22/tcp", ufwProgram + " status"
	for name, c := range map[string]struct {
		was, rebooted bool
		says          string // of "ufw status"
		ran           []string
		enabled       string
	}{
		"was off":                 {false, false, "", []string{disable, forget}, "no"},
		"was off, rebooted":       {false, true, "", []string{disable, forget}, "no"},
		"was enabled":             {true, false, "", []string{disable, forget}, "yes"},
		"was enabled, rebooting":  {true, true, "Status: inactive\n", []string{status, disable, forget}, "yes"},
		"was enabled, and is now": {true, true, "Status: active\n", []string{status, forget}, "no"}, // nothing is written that is so already
	} {
		s := &script{said: map[string]string{status: c.says}}
		m := s.manager()
		m.root = testenv.Plant(t, map[string]string{ufwConfiguration: "# ENABLED=no\nENABLED=no\nLOGLEVEL=low\n"})
		change.WasEnabled, change.Rebooted = c.was, c.rebooted
		b, err := m.Resume(change)
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Undo(t.Context()); err != nil || !slices.Equal(s.ran, c.ran) {
			t.Errorf("%s: %v, ran %q", name, err, s.ran)
		}
		if raw, err := os.ReadFile(filepath.Join(m.root, ufwConfiguration)); err != nil || string(raw) != "# ENABLED=no\nENABLED="+c.enabled+"\nLOGLEVEL=low\n" {
			t.Errorf("%s: %q, %v", name, raw, err)
		}
	}
}

// What "ufw status" does not say is no reason to unload rules that may be the owner's, nor that ufw is off.
func TestUFWThatDoesNotAnswerIsNotTakenForOff(t *testing.T) {
	s := &script{fails: map[string]sysexec.Result{ufwProgram + " status": {Exit: 1, Stderr: []byte("ERROR: no answer\n")}}}
	b, err := s.manager().Resume(firewall.Change{Manager: firewall.UFW, WasEnabled: true, Rebooted: true, Openings: []firewall.Opening{{Port: tcp(22)}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Undo(t.Context()); err == nil || !strings.Contains(err.Error(), "no answer") || !slices.Equal(s.ran, []string{ufwProgram + " status"}) {
		t.Errorf("%v, ran %q", err, s.ran)
	}
	if err := (&ufw{m: s.manager()}).Admits(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("admits: %v", err)
	}
}

func TestUFWThatDoesNotSwitchItselfOnIsLoadedAllTheSame(t *testing.T) {
	const enable, load = ufwProgram + " --force enable", "/usr/libexec/ufw/ufw-init start"
	s := &script{fails: map[string]sysexec.Result{enable: {Exit: 1, Stderr: []byte("ERROR: no answer\n")}}}
	s.files = []string{ufwProgram, "/usr/libexec/ufw/ufw-init"}
	m := s.manager()
	m.root = testenv.Plant(t, map[string]string{ufwConfiguration: "ENABLED=no\nLOGLEVEL=low\n"})
	b, err := m.Resume(firewall.Change{Kind: firewall.TurnOff, Manager: firewall.UFW, WasEnabled: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Undo(t.Context()); err == nil || !strings.Contains(err.Error(), "no answer") || !slices.Equal(s.ran, []string{enable, load}) {
		t.Errorf("%v, ran %q", err, s.ran)
	}
	if raw, err := os.ReadFile(filepath.Join(m.root, ufwConfiguration)); err != nil || string(raw) != "ENABLED=yes\nLOGLEVEL=low\n" {
		t.Errorf("%q, %v", raw, err)
	}
}

// "ufw disable" writes before it unloads the rules, and fails on a full disk.
func TestUFWThatCannotWriteIsUnloadedAllTheSame(t *testing.T) {
	const disable, unload = ufwProgram + " --force disable", "/lib/ufw/ufw-init force-stop"
	s := &script{fails: map[string]sysexec.Result{disable: {Exit: 1, Stderr: []byte("No space left on device\n")}}}
	s.files = []string{ufwProgram, "/lib/ufw/ufw-init"}
	b, err := s.manager().Resume(firewall.Change{Manager: firewall.UFW})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Undo(t.Context()); err == nil || !strings.Contains(err.Error(), "No space left") || !slices.Equal(s.ran, []string{disable, unload}) {
		t.Errorf("%v, ran %q", err, s.ran)
	}
}

// Else the trial could never be ended, nor another one begun.
func TestManagerThatWasUninstalledHasNothingToUndo(t *testing.T) {
	for _, name := range []string{firewall.UFW, firewall.Firewalld} {
		s := &script{}
		s.files = []string{}
		b, err := s.manager().Resume(firewall.Change{Manager: name, Openings: []firewall.Opening{{Zone: "public", Port: tcp(22)}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Undo(t.Context()); err != nil || len(s.ran) != 0 {
			t.Errorf("%s: %v, ran %q", name, err, s.ran)
		}
	}
}

// Without its ports it would shut out remote sessions at the next boot.
func TestFirewalldThatTheOwnerEnabledDuringATrialKeepsItsPorts(t *testing.T) {
	const forget = clientProgram + " --permanent --zone=public --remove-port=22/tcp"
	for name, c := range map[string]struct {
		was, is, rebooted bool
		ran               []string
	}{
		"enabled since":           {false, true, false, []string{"stop " + firewalldUnit}},
		"enabled since, rebooted": {false, true, true, nil},
		"enabled before":          {true, true, false, []string{"stop " + firewalldUnit, forget}},
		"not enabled":             {false, false, false, []string{"stop " + firewalldUnit, forget}},
	} {
		s := &script{}
		s.booted, s.known = true, map[string]systemd.UnitState{firewalldUnit: {Loaded: true, Active: true, Enabled: c.is}}
		b, err := s.manager().Resume(firewall.Change{
			Manager: firewall.Firewalld, WasEnabled: c.was, Rebooted: c.rebooted, Openings: []firewall.Opening{{Zone: "public", Port: tcp(22)}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Undo(t.Context()); err != nil || !slices.Equal(s.ran, c.ran) {
			t.Errorf("%s: %v, ran %q", name, err, s.ran)
		}
	}
}

// At boot the unit that takes back ends before firewalld begins.
func TestFirewalldThatWasSwitchedOffComesBack(t *testing.T) {
	const answers = clientProgram + " --state"
	for name, c := range map[string]struct {
		rebooted, enabled, active bool
		ran                       []string
	}{
		"in time":                     {false, false, false, []string{"start now " + firewalldUnit, answers}},
		"in time, enabled":            {false, true, false, []string{"start now " + firewalldUnit, answers}},
		"on again by hand":            {false, true, true, nil},
		"rebooted, enabled":           {true, true, false, nil}, // systemd starts it
		"rebooted, not enabled":       {true, false, false, []string{"queue " + firewalldUnit + " true"}},
		"rebooted, on again by hand":  {true, false, true, nil},
		"rebooted, on since the boot": {true, true, true, nil},
	} {
		s := &script{}
		s.booted, s.known = true, map[string]systemd.UnitState{firewalldUnit: {Loaded: true, Active: c.active, Enabled: c.enabled}}
		b, err := s.manager().Resume(firewall.Change{Kind: firewall.TurnOff, Manager: firewall.Firewalld, Rebooted: c.rebooted})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Undo(t.Context()); err != nil || !slices.Equal(s.ran, c.ran) {
			t.Errorf("%s: %v, ran %q", name, err, s.ran)
		}
	}
}

func TestTakingBackIsArrangedWhereItOutlivesTheCaller(t *testing.T) {
	for name, c := range map[string]struct {
		booted  bool
		restore bool
		change  firewall.Change
		want    string
		fails   string
	}{
		"systemd":                 {true, false, firewall.Change{Manager: firewall.Nftables}, "later 1m0.5s /opt/sentinel --restore-blocklist", ""},
		"no systemd":              {false, false, firewall.Change{Manager: firewall.Nftables}, "detach /opt/sentinel --restore-blocklist --after 61", ""},
		"ufw":                     {true, true, firewall.Change{Manager: firewall.UFW}, "later 1m0.5s /opt/sentinel --restore-blocklist", ""},
		"ufw, nothing at boot":    {true, false, firewall.Change{Manager: firewall.UFW}, "", "outlasts a reboot"},
		"ufw that comes anyway":   {true, false, firewall.Change{Manager: firewall.UFW, WasEnabled: true}, "later 1m0.5s /opt/sentinel --restore-blocklist", ""},
		"ufw, no service manager": {false, false, firewall.Change{Manager: firewall.UFW}, "", "outlasts a reboot"},
	} {
		s := &script{}
		s.booted, s.known = c.booted, map[string]systemd.UnitState{RestoreUnit: {Loaded: true, Enabled: c.restore}}
		m := s.manager()
		if before := m.Endable(t.Context(), firewall.TurnOn, c.change.Manager); (before != nil) != (c.fails != "") && !c.change.WasEnabled {
			t.Errorf("%s, before: %v", name, before)
		}
		err := m.Arrange(t.Context(), "/opt/sentinel", 60500*time.Millisecond, c.change)
		if (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) || strings.Join(s.ran, ";") != c.want {
			t.Errorf("%s: %v, ran %q", name, err, s.ran)
		}
	}
}

func TestZonesWithHostileNamesAreLeftOut(t *testing.T) {
	s := &script{said: map[string]string{
		offlineProgram + " --get-default-zone": "public\n",
		offlineProgram + " --list-all-zones":   "--panic-on (active)\n  interfaces: eth0\npublic\n  services: --reload ssh;x\n  ports: 22/tcp\n",
	}}
	s.booted = true
	f := &firewalld{m: s.manager()}
	if err := f.Enable(t.Context(), []firewall.Port{tcp(22)}, func(firewall.Change) error { return nil }); err != nil {
		t.Fatal(err)
	}
	for _, line := range s.ran {
		if strings.Contains(line, "panic") || strings.Contains(line, "reload") || strings.Contains(line, ";") {
			t.Errorf("ran %s", line)
		}
	}
	s.said[offlineProgram+" --get-default-zone"] = "gone\n"
	if _, err := f.Rules(t.Context()); err == nil {
		t.Error("a default zone that is not there")
	}
}

// A reload of firewalld forgets what is not permanent yet.
func TestAPortThatFirewalldForgotIsNotConfirmed(t *testing.T) {
	const query = clientProgram + " --zone=public --query-port=8080/tcp"
	for name, c := range map[string]struct {
		fails map[string]sysexec.Result
		want  bool
	}{
		"let in": {nil, true},
		"forgot": {map[string]sysexec.Result{query: {Exit: 1, Stdout: []byte("no\n")}}, false},
	} {
		s := &script{fails: c.fails}
		f := loadedFirewalld{firewalld{m: s.manager(), change: firewall.Change{
			Kind: firewall.LetIn, Manager: firewall.Firewalld, Openings: []firewall.Opening{{Port: firewall.Port{Number: 8080, Protocol: "tcp"}, Zone: "public"}},
		}}}
		if err := f.InForce(t.Context()); (err == nil) != c.want || !slices.Equal(s.ran, []string{query}) {
			t.Errorf("%s: %v, ran %q", name, err, s.ran)
		}
	}
}
