// SPDX-License-Identifier: Apache-2.0

//go:build linux

package logins

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"sentinel/internal/logins"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

const forgedFrom = "198.51.100.99"

const (
	forgedLogin  = "Accepted password for root from " + forgedFrom + " port 1 ssh2"
	forgedGuess  = "Failed password for root from " + forgedFrom + " port 2 ssh2\n"
	forgedScreen = "pam_unix(login:session): session opened for user root(uid=0) by mallory(uid=0)"
)

// asMallory are words that run a program as an ordinary user without any rule of sudo.
var asMallory = []string{"setpriv", "--reuid=mallory", "--regid=mallory", "--init-groups", "--reset-env"}

// forge has sudo print text for mallory, into a stream of journald that calls itself program, until journald
// takes it for root's: sudo complains as root that the name of this machine has no address, and journald does not
// tell the user of each line of a stream apart.
func forge(t *testing.T, within []string, program, text string) {
	t.Helper()
	last := text[strings.LastIndex(text[:len(text)-1], "\n")+1 : len(text)-1]
	testenv.WaitFor(t, program+" to be forged", func() bool {
		cmd := exec.Command(within[0], append(within[1:], "systemd-cat", "-t", program, "sudo", "-k", "-S", "-p", "'"+text+"'", "true")...)
		cmd.Run() // which is refused
		must(t, "journalctl", "--sync")
		out, err := exec.Command("journalctl", "--output=cat", "_UID=0", "SYSLOG_IDENTIFIER="+program).Output()
		return err == nil && strings.Contains(string(out), last)
	})
}

// tried lets a client of sshd be refused, and one with a key in.
func tried(t *testing.T) {
	t.Helper()
	must(t, "mkdir", "-p", "/home/mallory/.ssh")
	must(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "/root/key")
	must(t, "cp", "/root/key.pub", "/home/mallory/.ssh/authorized_keys")
	must(t, "chown", "-R", "mallory:mallory", "/home/mallory")
	must(t, "rm", "--force", "/run/nologin") // the machine is said to be starting while this runs
	must(t, "systemctl", "start", "ssh.service")
	if err := os.WriteFile("/root/ask", []byte("#!/bin/sh\necho wrong\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	options := []string{"-F", "/dev/null", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "IdentitiesOnly=yes"}
	wrong := exec.Command("ssh", append(options, "-o", "PreferredAuthentications=password", "-o", "NumberOfPasswordPrompts=2", "mallory@127.0.0.1", "true")...)
	wrong.Env = append(os.Environ(), "SSH_ASKPASS=/root/ask", "SSH_ASKPASS_REQUIRE=force", "DISPLAY=none:0")
	if out, err := wrong.CombinedOutput(); err == nil || !strings.Contains(string(out), "Permission denied") {
		t.Fatalf("%v: %s", err, out)
	}
	within := append(append([]string{"ssh"}, options...), "-i", "/root/key", "mallory@127.0.0.1")
	must(t, append(within, "true")...)
	forge(t, within, "login", "\n"+forgedScreen+"\n")
}

// Real journald, sudo and sshd: what a set-user-ID program prints for a user is no line of sshd, in a login of
// the user or without one, and what sshd writes is.
func TestWhatSudoPrintsIsNoLineOfSSHD(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	must(t, "useradd", "--create-home", "--shell", "/bin/sh", "mallory")
	begin := time.Now().Add(-time.Minute)
	tried(t)
	forge(t, asMallory, "sshd", "\n"+forgedLogin+"\n"+strings.Repeat(forgedGuess, 30))
	reader := New("/", sysexec.Host{}, time.Now)
	r, err := logins.Collect(t.Context(), reader, logins.Options{Since: begin, Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	told, _ := json.Marshal(r)
	if strings.Contains(string(told), forgedFrom) || len(r.Intrusions) != 0 {
		t.Errorf("forged lines are believed: %s", told)
	}
	if len(r.ByAddress) != 1 || r.ByAddress[0].Address != "127.0.0.1" || r.ByAddress[0].Failures != 2 || r.Unattributed < 30 {
		t.Errorf("failures: %s", told)
	}
	if len(r.Last) == 0 || r.Last[0].User != "mallory" || r.Last[0].From != "127.0.0.1" || r.Last[0].Service != "ssh" {
		t.Errorf("logins: %s", told)
	}
	if r.Source != "journal" || !strings.Contains(string(told), "nothing shows") {
		t.Errorf("%s", told)
	}
	claimed := strings.Repeat(fmt.Sprintf("%s host sshd[7]: Failed password for root from %s port 1 ssh2\n", time.Now().Format(time.RFC3339), forgedFrom), enough)
	if err := os.WriteFile("/var/log/auth.log", []byte(claimed), 0o640); err != nil {
		t.Fatal(err)
	}
	lately, err := reader.Lately(t.Context(), begin)
	if addresses := slices.Collect(maps.Keys(lately.ByAddress)); err != nil || !slices.Equal(addresses, []string{"127.0.0.1"}) || lately.Failures != 2 {
		t.Errorf("%v, %+v", err, lately)
	}
}
