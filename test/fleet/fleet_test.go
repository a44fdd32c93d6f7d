// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package fleet follows docs/fleet.md with the programs that fleets have: what the
// guide tells to type is typed, and what it promises is looked at.
package fleet

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sentinel/internal/testenv"
)

// part returns the block of the guide that follows a comment such as
// <!-- run: report -->.
func part(t *testing.T, guide, mark string) string {
	t.Helper()
	raw, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(raw), "<!-- "+mark+" -->\n```")
	_, rest, _ = strings.Cut(rest, "\n")
	block, _, closed := strings.Cut(rest, "\n```\n")
	if !found || !closed {
		t.Fatalf("the guide has no block %q", mark)
	}
	return block + "\n"
}

// shell types commands into a shell in a directory and returns what they print.
func shell(t *testing.T, dir, commands string) string {
	t.Helper()
	out, err := typed(dir, commands)
	if err != nil {
		t.Fatalf("%s\n%v\n%s", commands, err, out)
	}
	return out
}

func typed(dir, commands string) (string, error) {
	cmd := exec.Command("/bin/sh", "-e", "-c", commands)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func write(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

// start runs a program until the test ends.
func start(t *testing.T, dir string, words ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = dir
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop(cmd)
		if raw, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("%v:\n%s", words, raw)
		}
	})
	return cmd
}

// stop ends a program and what it started.
func stop(cmd *exec.Cmd) {
	if cmd.ProcessState == nil {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
	}
}

// listens waits until somebody accepts connections.
func listens(t *testing.T, address string) {
	t.Helper()
	testenv.WaitFor(t, address+" accepts connections", func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

// isolated runs the test in namespaces of its own, in which the directories that
// sentinel and the guide write to are not those of this machine, with programs of this
// repository where an installation has them.
func isolated(t *testing.T, programs ...string) bool {
	t.Helper()
	build(t, programs...)
	if !testenv.Isolated(t) {
		logFigures(t)
		return false
	}
	scratch := t.TempDir()
	shell(t, scratch, `
mount -t tmpfs tmpfs .
cd $PWD
mkdir etc work lib libwork
mount -t overlay overlay -o lowerdir=/etc,upperdir=$PWD/etc,workdir=$PWD/work /etc
mount -t overlay overlay -o lowerdir=/var/lib,upperdir=$PWD/lib,workdir=$PWD/libwork /var/lib # with what the package manager knows
rm -rf /var/lib/sentinel /var/lib/prometheus
for dir in /var/log /usr/local/bin; do mount -t tmpfs -o mode=755 tmpfs $dir; done
`)
	t.Cleanup(func() { shell(t, "/", "umount /etc /var/lib "+scratch) })
	for _, program := range programs {
		shell(t, built(), "install "+filepath.Base(program)+" /usr/local/bin/")
	}
	return true
}

// built is where programs are that the test inside finds, too: beside the
// binary of the tests, which goes with it.
func built() string { return filepath.Dir(os.Args[0]) }

// tell stores a figure for the process outside, which logs it.
func tell(t *testing.T, format string, args ...any) {
	t.Helper()
	file, err := os.OpenFile(figures(t), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	fmt.Fprintf(file, format+"\n", args...)
}

func logFigures(t *testing.T) {
	t.Helper()
	raw, err := os.ReadFile(figures(t))
	if err == nil {
		t.Logf("measured:\n%s", raw)
		os.Remove(figures(t))
	}
}

func figures(t *testing.T) string { return filepath.Join(built(), t.Name()+".figures") }

// build builds programs as they are shipped, before the test runs inside.
func build(t *testing.T, programs ...string) {
	t.Helper()
	if os.Getenv("SENTINEL_TEST_INSIDE") != "" {
		return
	}
	cmd := exec.Command("go", append([]string{"build", "-trimpath", "-tags", "nethttpomithttp2", "-ldflags", "-s -w", "-o", built() + "/"}, programs...)...)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %v: %v\n%s", programs, err, out)
	}
}

// certify writes an authority of the fleet and the certificate and key of a
// server that it signed, under the names of the guide.
func certify(t *testing.T, dir, host string) {
	t.Helper()
	authority := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "fleet"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	server := &x509.Certificate{SerialNumber: big.NewInt(2), DNSNames: []string{host}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	var keys []*ecdsa.PrivateKey
	for _, c := range []*x509.Certificate{authority, server} {
		c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
		der, err := x509.CreateCertificate(rand.Reader, c, authority, &key.PublicKey, keys[0])
		if err != nil {
			t.Fatal(err)
		}
		name := map[*x509.Certificate]string{authority: "fleet-ca.pem", server: "receiver.pem"}[c]
		write(t, filepath.Join(dir, name), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), 0o644)
	}
	der, err := x509.MarshalPKCS8PrivateKey(keys[1])
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "receiver.key"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), 0o600)
}

// named leads the host of the guide to this machine.
func named(t *testing.T, host string) {
	t.Helper()
	own, err := os.Hostname() // which sudo looks up
	if err != nil {
		t.Fatal(err)
	}
	write(t, "/etc/hosts", fmt.Sprintf("127.0.0.1 localhost %s %s\n", own, host), 0o644)
}
