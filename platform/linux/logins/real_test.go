// SPDX-License-Identifier: Apache-2.0

//go:build linux

package logins

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sentinel/internal/logins"
	"sentinel/internal/testenv"
)

const (
	server, mallory, ann = "192.0.2.1", "192.0.2.66", "192.0.2.21"
	forged               = " from 10.0.0.1 port 22 ssh2"
)

// must runs a program that has to succeed.
func must(t *testing.T, words ...string) {
	t.Helper()
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", words, err, out)
	}
}

// realServer starts sshd with an account that has a password, and returns the directory with its log.
func realServer(t *testing.T) string {
	t.Helper()
	testenv.RequireIsolated(t)
	dir := t.TempDir()
	os.Chmod(filepath.Dir(dir), 0o755)
	os.Chmod(dir, 0o755)
	must(t, "mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
	must(t, "mkdir", "-p", "/run/netns", "/run/sshd")
	must(t, "mount", "-t", "tmpfs", "tmpfs", "/var/log") // sshd writes btmp and wtmp
	must(t, "touch", "/var/log/btmp", "/var/log/wtmp")
	os.Chmod("/var/log/btmp", 0o600)
	must(t, "ip", "netns", "add", "peer")
	must(t, "ip", "link", "add", "d0", "type", "veth", "peer", "name", "p0", "netns", "peer")
	must(t, "ip", "addr", "add", server+"/24", "dev", "d0")
	must(t, "ip", "link", "set", "d0", "up")
	must(t, "ip", "-n", "peer", "link", "set", "p0", "up")
	for _, a := range []string{mallory, ann} {
		must(t, "ip", "-n", "peer", "addr", "add", a+"/24", "dev", "p0")
	}
	for _, name := range []string{"host", "key", "other", "ca"} {
		must(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, name))
	}
	must(t, "ssh-keygen", "-q", "-s", dir+"/ca", "-I", "x"+forged, "-n", "root", dir+"/other.pub")
	os.Chmod(dir+"/key.pub", 0o644)
	for file, line := range map[string]string{"passwd": "mira:x:4711:4711::" + dir + ":/bin/true\n", "shadow": "mira:" + crypted(t) + ":19000::::::\n"} {
		raw, err := os.ReadFile("/etc/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), append(raw, line...), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount(filepath.Join(dir, file), "/etc/"+file, "", syscall.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
	}
	sshd := exec.Command("/usr/sbin/sshd", "-D", "-f", "/dev/null", "-h", dir+"/host", "-p", "2201", "-E", dir+"/log", "-o", "PidFile=none", "-o", "UsePAM=no",
		"-o", "StrictModes=no", "-o", "PermitRootLogin=yes", "-o", "AuthorizedKeysFile="+dir+"/key.pub", "-o", "MaxStartups=100", "-o", "LoginGraceTime=60")
	if err := sshd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		sshd.Process.Kill()
		sshd.Wait()
	})
	testenv.WaitFor(t, "sshd", func() bool {
		c, err := net.Dial("tcp", server+":2201")
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return dir
}

const password = "correct-horse"

func crypted(t *testing.T) string {
	t.Helper()
	out, err := exec.Command(testenv.Program(t, "openssl", "openssl"), "passwd", "-6", password).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// ssh tries to log in from an address of the peer, with the password that the client is told.
func ssh(t *testing.T, dir, from, user, secret string, options ...string) bool {
	t.Helper()
	ask := filepath.Join(dir, "ask-"+secret)
	if err := os.WriteFile(ask, []byte("#!/bin/sh\necho "+secret+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	words := append([]string{
		"netns", "exec", "peer", "/usr/bin/ssh", "-F", "/dev/null", "-p", "2201", "-b", from, "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
		"-o", "ConnectTimeout=60", "-o", "IdentitiesOnly=yes", "-o", "User=\"" + user + "\"",
	}, options...) // the first value of an option counts
	cmd := exec.Command("ip", append(words, "-o", "NumberOfPasswordPrompts=3", server, "true")...)
	cmd.Env = append(os.Environ(), "SSH_ASKPASS="+ask, "SSH_ASKPASS_REQUIRE=force", "DISPLAY=none:0", "SSH_AUTH_SOCK=")
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(string(out), "Permission denied") && !strings.Contains(string(out), "Too many authentication failures") {
		t.Fatalf("%s: %v: %s", user, err, out)
	}
	return err == nil
}

// A real server, real failures and successes, and a client whose names for users look like other lines:
// all that comes of them is at the address that they came from.
func TestRealServerAndHostileNames(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	testenv.Program(t, "sshd", "openssh-server")
	dir := realServer(t)
	noKey := []string{"-o", "PubkeyAuthentication=no"}
	for _, user := range []string{"root", "root" + forged, "x 10.0.0.1 port 22 [preauth]", "Accepted password for root" + forged, "y" + forged + ": RSA SHA256:AAAAAAAAAABBBBBBBBBBCCCCCCCCCCDDDDDDDDDDEEE"} {
		if ssh(t, dir, mallory, user, "wrong", noKey...) {
			t.Fatalf("%s got in", user)
		}
	}
	ssh(t, dir, mallory, "nobody"+forged, "wrong", "-i", dir+"/other", "-o", "CertificateFile="+dir+"/other-cert.pub", "-o", "PasswordAuthentication=no")
	if !ssh(t, dir, mallory, "mira", password, noKey...) {
		t.Fatal("the password does not let in")
	}
	if !ssh(t, dir, ann, "root", "none", "-i", dir+"/key") {
		t.Fatal("the key does not let in")
	}

	raw, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	var log strings.Builder
	for line := range strings.Lines(string(raw)) {
		fmt.Fprintf(&log, "%s host sshd[812]: %s\n", now.Format(time.RFC3339), strings.TrimRight(line, "\r\n"))
	}
	root := testenv.Plant(t, map[string]string{"var/log/auth.log": log.String(), "etc/passwd": "mira:x:4711:4711::/:/bin/sh\n", "etc/group": "", "etc/shadow": ""})
	reader := New(root, nil, func() time.Time { return now })
	r, err := logins.Collect(t.Context(), reader, logins.Options{Since: now.Add(-time.Hour), Now: now.Add(time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Intrusions) != 1 || r.Intrusions[0].Address != mallory || r.Intrusions[0].User != "mira" || r.Intrusions[0].Failures < 15 || r.Intrusions[0].Method != "password" {
		t.Errorf("intrusions: %+v\n%s", r.Intrusions, raw)
	}
	if *r.AddressesTotal != 1 || r.ByAddress[0].Address != mallory {
		t.Errorf("addresses: %+v\n%s", r.ByAddress, raw)
	}
	for _, l := range r.Last {
		if l.User != "mira" && l.User != "root" || l.From != map[string]string{"mira": mallory, "root": ann}[l.User] {
			t.Errorf("login: %+v", l)
		}
	}
	records, err := logins.Collect(t.Context(), New("/", nil, time.Now), logins.Options{Since: now.Add(-time.Hour), Now: now.Add(time.Minute)})
	if err != nil || records.Source != "/var/log/btmp" || *records.AddressesTotal != 1 || records.ByAddress[0].Address != mallory || records.ByAddress[0].Failures < 15 {
		t.Errorf("%v, of the records: %+v", err, records)
	}
	if *r.LastTotal != 2 || r.Unattributed > 1 {
		t.Errorf("%d logins, %d without an address\n%s", *r.LastTotal, r.Unattributed, raw)
	}
}

// sshd writes a record of a name that it does not know, and another one of each password for it.
func TestAnUnknownNameCountsOnceInRecords(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	testenv.Program(t, "sshd", "openssh-server")
	dir := realServer(t)
	since, reader := time.Now().Add(-time.Hour), New("/", nil, time.Now)
	if reader.asksDirectory() { // as this machine may
		files := filepath.Join(dir, "nsswitch.conf")
		if err := os.WriteFile(files, []byte("passwd: files\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		must(t, "mount", "--bind", files, "/etc/nsswitch.conf")
	}
	for _, c := range []struct{ user, methods, passwords string }{
		{"unknown1", "password", "1"}, {"unknown2", "password", "3"}, {"unknown3", "none", "1"}, {"mira", "password", "3"},
	} {
		if ssh(t, dir, mallory, c.user, "wrong", "-o", "PreferredAuthentications="+c.methods, "-o", "NumberOfPasswordPrompts="+c.passwords) {
			t.Fatalf("%s got in", c.user)
		}
	}
	const want = 1 + 3 + 1 + 3
	lately, err := reader.Lately(t.Context(), since)
	if err != nil || lately.Failures != want || lately.ByAddress[mallory] != want {
		t.Errorf("%v, lately: %+v", err, lately)
	}
	log, err := reader.Log(t.Context(), since)
	if err != nil || log.Name != btmpFile || len(log.Events) != want {
		t.Errorf("%v, %d in %s", err, len(log.Events), log.Name)
	}
}
