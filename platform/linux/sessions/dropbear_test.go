// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sessions

import (
	"net"
	"os/exec"
	"testing"

	"sentinel/internal/testenv"
)

// Dropbear has a process of root's for each client, and says nowhere who has logged in.
func TestWhoHasOnlyConnectedToDropbearHasNoSession(t *testing.T) {
	for program, name := range map[string]string{"dropbear": "dropbear-bin", "dropbearkey": "dropbear-bin", "sshd": "openssh-server", "ssh": "openssh-client", "ip": "iproute2"} {
		testenv.Program(t, program, name)
	}
	if !testenv.Isolated(t) {
		return
	}
	s := newSite(t)
	key := s.dir + "/dropbear"
	if out, err := exec.Command("dropbearkey", "-t", "ed25519", "-f", key).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s.start("", nil, "dropbear", "-F", "-E", "-p", "2250", "-r", key, "-P", s.dir+"/pid")
	s.listens("", "2250")
	knock(t, eve, net.JoinHostPort(here, "2250"))
	own := s.ssh("peer", ann, here, "2250", "-tt")
	s.ssh("peer", bob, here, "2250") // without a terminal
	s.start("peer", nil, s.sshWords(relay, here, "2250", "-N", "-R", "2251:127.0.0.1:2250")...)
	s.listens("", "2251")
	if got, want := whose(model(t, own)), ann+" own, "+bob+" others', "+relay+" others'"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
