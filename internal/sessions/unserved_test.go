// SPDX-License-Identifier: Apache-2.0

package sessions

import (
	"maps"
	"net/netip"
	"slices"
	"testing"
)

// local is a login of bob's over a socket that is not of the network (90): sshd of root (PID 60) and bob's part
// of it, with a shell at pts/6 and sudo in it, or with a command.
func local(terminal string) *machine {
	m := sshd()
	m.process(60, 1, "sshd-session", "root", "", 90)
	if terminal == "" {
		m.process(61, 60, "sshd-session", "bob", "", 90)
		m.process(62, 61, "rsync", "bob", "")
	} else {
		m.process(61, 60, "sshd-session", "bob", "", 90, terminal)
		m.process(62, 61, "bash", "bob", terminal)
		m.process(63, 62, "sudo", "root", terminal, "pts/8")
		m.process(64, 63, "bash", "root", "pts/8")
		for _, pid := range []int{62, 63, 64} { // its control group
			d := m.described[pid]
			d.Login = "3"
			m.described[pid] = d
		}
	}
	m.Logins = []Login{{ID: "3", Leader: 60, User: "bob", Terminal: terminal, Remote: true, Manager: true}}
	return m
}

// Sessions come by AF_UNIX and AF_VSOCK, too (systemd-ssh-generator(8)), of which root's record has no address.
func TestALoginWithoutAnAddressIsASession(t *testing.T) {
	for terminal, carry := range map[string][]int{"pts/6": {60, 61, 62}, "": {60, 61, 62}} {
		for self, whose := range map[int]Ownership{13: Others, 62: Own} {
			m := local(terminal)
			m.Self = self
			model, _ := summary(t, m)
			var found []int
			for _, pid := range slices.Sorted(maps.Keys(model.Processes)) {
				if c := model.Processes[pid]; pid >= 60 && c.Whose() == whose && c.Sessions[0].User == "bob" {
					found = append(found, pid)
				}
			}
			if !slices.Equal(found, carry) {
				t.Errorf("at %q, for %d: %v, want %v", terminal, self, found, carry)
			}
			const why = `with whom "sshd-session" (PID 60) is connected is not seen, which carries `
			own := map[Ownership]string{Others: "the session of bob", Own: "this call's own session of bob"}[whose]
			if terminal != "" {
				own += " at " + terminal
			}
			if len(model.Gaps) != 1 || model.Gaps[0].Why != why+own || model.Gaps[0].Whose != whose {
				t.Errorf("at %q, for %d: %+v", terminal, self, model.Gaps)
			}
			if hidden := len(model.Hidden()); hidden != int(whose)/2 {
				t.Errorf("at %q, for %d: %d hidden", terminal, self, hidden)
			}
		}
	}
}

// A detached caller may have come from it.
func TestALoginWithoutAnAddressMayBeTheCallersOwn(t *testing.T) {
	m := local("pts/6")
	m.process(70, 1, "sentinel", "root", "")
	m.Self, m.Users = 70, []User{{UID: uidOf("bob"), Name: "bob"}}
	model, _ := summary(t, m)
	if c := model.Processes[62]; c.Sessions == nil || c.Whose() != PossiblyOwn {
		t.Errorf("%+v", c)
	}
}

// A server may tell the session manager its terminal too late (PAM_TTY of sshd).
func TestALoginWithoutAnAddressNeedsNoTerminalOnRecord(t *testing.T) {
	m := local("pts/6")
	m.Logins[0].Terminal, m.Self = "", 13
	model, _ := summary(t, m)
	for _, pid := range []int{60, 61, 62} {
		if model.Processes[pid].Sessions == nil {
			t.Errorf("%d is not claimed", pid)
		}
	}
	if len(model.Sessions) != 2 {
		t.Errorf("%v", model.Sessions)
	}
}

// Such a session ends with what leads a terminal within it, too, where a recorder is in the place of its shell; and its
// terminal is lost with the monitor of sudo.
func TestALoginWithoutAnAddressMayBeRecorded(t *testing.T) {
	m := local("pts/6")
	m.files[62] = Files{Masters: []string{"pts/9"}}
	m.process(65, 62, "bash", "bob", "pts/9")
	m.process(66, 65, "script", "bob", "pts/9", "pts/10")
	m.process(67, 66, "bash", "bob", "pts/10")
	for _, pid := range []int{65, 66, 67} {
		m.described[pid] = Description{UID: uidOf("bob"), User: "bob", Login: "3"}
	}
	m.Self = 13
	m.lend(63)
	m.lend(64)
	model, _ := summary(t, m)
	for pid, carries := range map[int]bool{62: true, 64: true, 65: true, 66: false, 67: false} {
		if got := model.Processes[pid].Sessions != nil; got != carries {
			t.Errorf("%d: claimed %v, want %v", pid, got, carries)
		}
	}
}

// One with an address protects both.
func TestALoginThatNothingServesHasItsProcesses(t *testing.T) {
	m := local("pts/6")
	m.Logins[0].From = netip.MustParseAddr("203.0.113.9")
	m.Self = 13
	model, got := summary(t, m)
	if got != "203.0.113.7 own, 203.0.113.9 others'" || model.Processes[62].Sessions == nil || len(model.Gaps) > 0 {
		t.Errorf("%s, %+v, %+v", got, model.Processes[62], model.Gaps)
	}
}

// What has left a login, and what is in one that has ended, belongs to none.
func TestWhatIsNotBelowALoginIsNotItsSession(t *testing.T) {
	m := local("pts/6")
	m.process(70, 1, "tmux", "bob", "", "pts/9")
	m.process(71, 70, "bash", "bob", "pts/9")
	m.described[71] = Description{UID: uidOf("bob"), User: "bob", Login: "3"}
	m.Self = 13
	model, _ := summary(t, m)
	if c, ok := model.Processes[71]; ok {
		t.Errorf("%+v", c)
	}
	m.Logins[0].Leader = 999
	if model, _ = summary(t, m); model.Processes[62].Sessions != nil {
		t.Errorf("%+v", model.Processes[62])
	}
}
