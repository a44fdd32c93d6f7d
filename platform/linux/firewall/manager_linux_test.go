// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sentinel/internal/fault"
	"sentinel/internal/firewall"
	"sentinel/internal/sysexec"
)

func TestOwnersChoiceOfManagerIsFollowed(t *testing.T) {
	both := []string{ufwProgram, offlineProgram, clientProgram}
	loadedUnit, enabled, masked := unit{loaded: true}, unit{loaded: true, enabled: true}, unit{masked: true}
	for name, c := range map[string]struct {
		files []string
		known map[string]unit
		want  string
	}{
		"nothing installed":              {nil, nil, firewall.Nftables},
		"ufw":                            {both[:1], map[string]unit{ufwUnit: enabled}, firewall.UFW},
		"ufw without systemd":            {both[:1], nil, firewall.UFW},
		"ufw masked":                     {both[:1], map[string]unit{ufwUnit: masked}, firewall.Nftables},
		"firewalld":                      {both[1:], map[string]unit{firewalldUnit: loadedUnit}, firewall.Firewalld},
		"firewalld without its client":   {both[1:2], map[string]unit{firewalldUnit: loadedUnit}, firewall.Nftables},
		"firewalld without systemd":      {both[1:], nil, firewall.Nftables},
		"firewalld masked":               {both[1:], map[string]unit{firewalldUnit: masked}, firewall.Nftables},
		"both, neither enabled":          {both, map[string]unit{ufwUnit: loadedUnit, firewalldUnit: loadedUnit}, firewall.UFW},
		"both, firewalld enabled":        {both, map[string]unit{ufwUnit: loadedUnit, firewalldUnit: enabled}, firewall.Firewalld},
		"both, both as they were put in": {both, map[string]unit{ufwUnit: enabled, firewalldUnit: enabled}, firewall.Firewalld},
		"both, firewalld masked":         {both, map[string]unit{ufwUnit: enabled, firewalldUnit: masked}, firewall.UFW},
		"both, firewalld runs":           {both, map[string]unit{ufwUnit: enabled, firewalldUnit: {loaded: true, active: true}}, firewall.Firewalld},
		"both, firewalld starts":         {both, map[string]unit{ufwUnit: enabled, firewalldUnit: {loaded: true, starting: true}}, firewall.Firewalld},
		"both, both masked":              {both, map[string]unit{ufwUnit: masked, firewalldUnit: masked}, firewall.Nftables},
	} {
		m := machine{files: c.files, known: c.known}
		got, err := m.wall().Backend(t.Context())
		if err != nil || got.Name() != c.want {
			t.Errorf("%s: %v, %v; want %s", name, got, err, c.want)
		}
	}
}

func TestKernelWithoutNftablesHasNoFirewall(t *testing.T) {
	w := (&machine{}).wall()
	w.usable = func() error { return noFirewall(unix.EPROTONOSUPPORT) }
	_, err := w.Backend(t.Context())
	var known *fault.Error
	if !errors.As(err, &known) || known.Code != fault.NoFirewall || known.Fix == "" {
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

func (s *script) start(_ context.Context, name string) error {
	s.ran = append(s.ran, "start "+name)
	return nil
}

func (s *script) stop(_ context.Context, name string) error {
	s.ran = append(s.ran, "stop "+name)
	return nil
}

func (s *script) wall() *Manager {
	w := s.machine.wall()
	w.runner, w.units = s, s
	return w
}

func TestUFWThatFailsIsTakenBackStepByStep(t *testing.T) {
	s := &script{
		said:  map[string]string{"/usr/sbin/ufw show added": "ufw limit 22/tcp\n"},
		fails: map[string]sysexec.Result{"/usr/sbin/ufw --force enable": {Exit: 1, Stderr: []byte("ERROR: problem running ufw-init\nmore\n")}},
	}
	m := &ufw{w: s.wall()}
	err := m.Enable(t.Context(), []firewall.Port{tcp(22), tcp(2222)})
	if err == nil || !strings.Contains(err.Error(), "problem running ufw-init") || strings.Contains(err.Error(), "more") {
		t.Errorf("got %v", err)
	}
	if err := m.Undo(t.Context()); err != nil {
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
	s.booted, s.known = true, map[string]unit{firewalldUnit: {loaded: true, active: true}}
	m := &firewalld{w: s.wall()}
	rules, err := m.Rules(t.Context(), nil)
	if err != nil || rules(tcp(22)).Verdict != firewall.Open || rules(tcp(2222)).Verdict != firewall.Closed || rules(tcp(80)).Verdict != firewall.Refused {
		t.Errorf("rules: %v", err)
	}
	s.ran = nil
	if err := m.Enable(t.Context(), []firewall.Port{tcp(22), tcp(2222)}); err != nil {
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
	if err := m.Undo(t.Context()); err != nil || len(s.ran) != 2 || !strings.Contains(s.ran[0], "--permanent --zone=public --remove-port=2222/tcp") || s.ran[1] != clientProgram+" --reload" {
		t.Errorf("%v, ran %q", err, s.ran)
	}
}

func TestZonesWithHostileNamesAreLeftOut(t *testing.T) {
	s := &script{said: map[string]string{
		offlineProgram + " --get-default-zone": "public\n",
		offlineProgram + " --list-all-zones":   "--panic-on (active)\n  interfaces: eth0\npublic\n  services: --reload ssh;x\n  ports: 22/tcp\n",
	}}
	s.booted = true
	m := &firewalld{w: s.wall()}
	if err := m.Enable(t.Context(), []firewall.Port{tcp(22)}); err != nil {
		t.Fatal(err)
	}
	for _, line := range s.ran {
		if strings.Contains(line, "panic") || strings.Contains(line, "reload") || strings.Contains(line, ";") {
			t.Errorf("ran %s", line)
		}
	}
	s.said[offlineProgram+" --get-default-zone"] = "gone\n"
	if _, err := m.Rules(t.Context(), nil); err == nil {
		t.Error("a default zone that is not there")
	}
}
