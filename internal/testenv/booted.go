// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sentinel/internal/sysexec"
)

const (
	buildLimit = 8 * time.Minute // for the root file system, which is built once
	bootLimit  = 8 * time.Minute // with the test that runs in it
	// packages are installed in the container besides Debian's minimal set: a service manager,
	// firewalls, sshd and sudo, and servers that test their own configuration. debootstrap cannot choose between alternatives: libpam-systemd is
	// the logind that polkitd, and so firewalld, depends on.
	packages = "systemd,systemd-sysv,libpam-systemd,dbus,iproute2,procps,sudo,iptables,nftables,conntrack,ufw,firewalld,openssh-server,openssh-client,nginx-light,apache2,haproxy,bind9"
	// rootName changes with the content of the container.
	rootName = "debian-systemd-4"
)

// Booted reruns the calling test as root in a container with a booted systemd and
// the given units in /etc/systemd/system; see [Inside]. The root file system is built with
// debootstrap from the mirror of this machine and kept in the user's cache; changes are discarded.
// A boot takes half a second, so several cases should be subtests of one test; they may run in
// parallel. Tests start services that not every test needs, such as sshd, with systemctl.
func Booted(t *testing.T, units map[string]string) bool {
	t.Helper()
	return BootedWith(t, units, nil)
}

// BootedWith is [Booted] with read-only files of this machine: their paths here and
// in the container.
func BootedWith(t *testing.T, units, files map[string]string) bool {
	t.Helper()
	if os.Getenv(insideEnv) == t.Name() {
		RequireIsolated(t)
		return true
	}
	Namespaces(t)
	nspawn := Program(t, "systemd-nspawn", "systemd-container")
	root := rootFS(t)
	directory := t.TempDir()
	args := []string{
		"SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1", nspawn, "--quiet", "--directory=" + root, "--volatile=overlay", "--register=no", "--keep-unit",
		"--private-network", "--link-journal=no", "--console=pipe", fmt.Sprintf("--machine=sentinel-test-%d", os.Getpid()),
		"--bind-ro=" + os.Args[0] + ":/sentinel.test", "--bind=" + directory + ":/result",
	}
	for from, to := range files {
		args = append(args, "--bind-ro="+from+":"+to)
	}
	for name, content := range units {
		args = append(args, bindUnit(t, directory, name, content))
	}
	args = append(args, bindUnit(t, directory, "inside.service", insideUnit(t)), "--boot", "systemd.unit=inside.service")
	r, err := sysexec.Host{}.Run(t.Context(), sysexec.Command{Path: "/usr/bin/env", Args: args, Timeout: bootLimit})
	removeCgroups(t)
	said, rerr := os.ReadFile(filepath.Join(directory, "output"))
	if rerr != nil {
		t.Fatalf("the container did not run the test: %v, status %d\n%s%s", err, r.Exit, r.Stdout, r.Stderr)
	}
	r.Stdout, r.Stderr = said, nil
	adoptResult(t, r, err)
	return false
}

// removeCgroups removes the empty control groups that systemd-nspawn leaves below
// that of this process.
func removeCgroups(t *testing.T) {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		for _, hierarchy := range []string{"", "unified", "systemd"} {
			for _, left := range []string{"payload/init.scope", "payload", "supervisor"} {
				os.Remove(filepath.Join("/sys/fs/cgroup", hierarchy, parts[2], left)) // in use, or not there
			}
		}
	}
}

// bindUnit writes a unit and returns the option that mounts it in the container.
func bindUnit(t *testing.T, directory, name, content string) string {
	t.Helper()
	path := filepath.Join(directory, name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil { // units are for everyone to read
		t.Fatal(err)
	}
	return "--bind-ro=" + path + ":/etc/systemd/system/" + name
}

// insideUnit runs the test and stops the container with its status.
func insideUnit(t *testing.T) string {
	t.Helper()
	return `[Unit]
Wants=dbus.socket
After=dbus.socket
SuccessAction=exit-force
FailureAction=exit-force
[Service]
Type=oneshot
Environment=` + insideEnv + "=" + t.Name() + ` "` + namespacesEnv + "=" + outerNamespaces(t) + `" SENTINEL_REQUIRE_ALL=` + os.Getenv("SENTINEL_REQUIRE_ALL") + ` HOME=/root
ExecStart=/sentinel.test "-test.run=` + strings.ReplaceAll(testPattern(t.Name()), "$", "$$") + `" -test.v -test.count=1 -test.parallel=16
StandardOutput=file:/result/output
StandardError=inherit
`
}

// rootFS returns a root file system with systemd, locked until the test ends: only
// one container at a time can boot from it.
func rootFS(t *testing.T) (root string) {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = "/var/cache"
	}
	cache = filepath.Join(cache, "sentinel-test")
	if err := os.MkdirAll(cache, 0o755); err != nil { // root file systems are for every user in them
		t.Fatal(err)
	}
	lock, err := os.OpenFile(filepath.Join(cache, rootName+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Close() }) // only the lock goes with it
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	root = filepath.Join(cache, rootName)
	if _, err := os.Stat(root); err != nil {
		build(t, root)
	}
	return root
}

// build creates the root file system under another name and renames it, so that an
// interrupted one is never used.
func build(t *testing.T, root string) {
	t.Helper()
	tool := Program(t, "debootstrap", "debootstrap")
	suite, mirror := debian()
	Need(t, suite != "" && mirror != "", "Debian with its mirror in /etc/apt, to make a container")
	unfinished := root + ".new"
	if err := os.RemoveAll(unfinished); err != nil {
		t.Fatal(err)
	}
	args := []string{"http_proxy=" + os.Getenv("http_proxy"), tool, "--variant=minbase", "--include=" + packages, suite, unfinished, mirror}
	r, err := sysexec.Host{}.Run(t.Context(), sysexec.Command{Path: "/usr/bin/env", Args: args, Timeout: buildLimit})
	Need(t, err == nil && r.Exit == 0, fmt.Sprintf("a container from %s: %v\n%s%s", mirror, err, tail(r.Stdout), tail(r.Stderr)))
	if err := os.Rename(unfinished, root); err != nil {
		t.Fatal(err)
	}
}

func tail(b []byte) []byte { return b[max(0, len(b)-2000):] }

// debian returns the release of this machine and a mirror to take packages
// from; empty on another distribution.
func debian() (suite, mirror string) {
	raw, err := os.ReadFile("/etc/os-release")
	if err != nil || !strings.Contains(string(raw), "\nID=debian\n") {
		return "", ""
	}
	for line := range strings.Lines(string(raw)) {
		if name, ok := strings.CutPrefix(line, "VERSION_CODENAME="); ok {
			suite = strings.TrimSpace(name)
		}
	}
	return suite, aptMirror()
}

// aptMirror returns the first plain Debian archive of the configuration of apt
// (sources.list(5), both forms).
func aptMirror() string {
	lists := []string{"/etc/apt/sources.list"}
	for _, pattern := range []string{"/etc/apt/sources.list.d/*.sources", "/etc/apt/sources.list.d/*.list"} {
		if found, err := filepath.Glob(pattern); err == nil {
			lists = append(lists, found...)
		}
	}
	for _, list := range lists {
		raw, err := os.ReadFile(list)
		if err != nil {
			continue
		}
		for word := range strings.FieldsSeq(string(raw)) {
			if strings.HasPrefix(word, "http") && strings.HasSuffix(strings.TrimSuffix(word, "/"), "/debian") {
				return word
			}
		}
	}
	return ""
}

// Systemctl runs systemctl with args, split at spaces. want says whether it must
// succeed.
func Systemctl(t *testing.T, want bool, args string) {
	t.Helper()
	out, err := exec.Command(Program(t, "systemctl", "systemd"), strings.Fields(args)...).CombinedOutput()
	if (err == nil) != want {
		t.Fatalf("systemctl %s: %v: %s", args, err, out)
	}
}
