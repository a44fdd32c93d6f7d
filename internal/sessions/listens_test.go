// SPDX-License-Identifier: Apache-2.0

package sessions

import "testing"

// Whoever is connected with a server of theirs has any number of processes hold the socket that it listens at.
func TestNobodyIsLetAloneForHoldingASocketThatListens(t *testing.T) {
	for account, untrusted := range map[string]bool{"mallory": true, "_www": true, "ann": false, "root": false} {
		m := sshd()
		m.tcp(30, "0.0.0.0:4444", "")
		m.Sockets[len(m.Sockets)-1].UID = uidOf(account)
		m.tcp(31, "127.0.0.1:4444", "127.0.0.1:40000")
		m.Sockets[len(m.Sockets)-1].UID = uidOf(account)
		m.tcp(32, "127.0.0.1:40000", "127.0.0.1:4444")
		m.process(30, 1, "python", account, "", 32)
		m.process(31, 1, "python", account, "", 31, "pts/4")
		m.process(32, 31, "sh", account, "pts/4")
		m.process(33, 1, "miner", account, "", 30)
		m.Self = 13
		model, _ := summary(t, m)
		if c := model.Processes[33]; !c.Listens || c.Untrusted != untrusted {
			t.Errorf("%s: %+v", account, c)
		}
		if c := model.Processes[10]; !c.Listens || c.Untrusted {
			t.Errorf("sshd beside %s: %+v", account, c)
		}
		m.lend(33)
		if model, _ = summary(t, m); model.Processes[33].Untrusted != (account != "ann") {
			t.Errorf("%s, with rights of others: %+v", account, model.Processes[33])
		}
	}
}

// A server of a service that has let somebody in is one that people log in through; a prompt shows nobody.
func TestAServerOfAServiceIsTrustedOnceItHasLetSomebodyIn(t *testing.T) {
	for name, c := range map[string]struct {
		account, program string
		untrusted        bool
	}{"somebody is in": {"bob", "", false}, "a prompt": {"root", "su", true}} {
		m := sshd()
		m.tcp(30, "0.0.0.0:4200", "")
		m.tcp(31, "192.0.2.1:4200", "203.0.113.9:4000")
		m.process(30, 1, "web", "_web", "", 30)
		m.process(31, 30, "web", "_web", "", 31, "pts/4")
		m.process(32, 31, "sh", c.account, "pts/4")
		if m.runs(32, c.program); c.program != "" {
			m.lend(32)
			m.files[30] = Files{Sockets: []SocketID{30, 31}}
			m.files[31] = Files{Masters: []string{"pts/4"}}
		}
		m.Self = 13
		model, _ := summary(t, m)
		if claim := model.Processes[30]; !claim.Listens || claim.Untrusted != c.untrusted {
			t.Errorf("%s: %+v", name, claim)
		}
	}
}
