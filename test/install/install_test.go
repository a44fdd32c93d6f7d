// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package install tests what a person gets who installs the package: on a Debian
// that has never seen sentinel, with its real service manager, sudo and package manager.
package install

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/testenv"
	"sentinel/test/assistant"
)

const user = "alice"

// build makes the package in two versions and the client, and returns what the
// container needs by its path there.
func build(t *testing.T) map[string]string {
	t.Helper()
	if os.Getenv("SENTINEL_TEST_INSIDE") != "" {
		return nil
	}
	folder := t.TempDir()
	files := map[string]string{}
	for _, version := range []string{"0.1.0", "0.1.1"} {
		cmd := exec.Command("make", "package", "VERSION="+version)
		cmd.Dir = "../.."
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("make package: %v\n%s", err, out)
		}
		found, err := filepath.Glob("../../dist/sentinel_" + version + "*.deb")
		if err != nil || len(found) != 1 {
			t.Fatalf("packages %v, %v", found, err)
		}
		path, err := filepath.Abs(found[0])
		if err != nil {
			t.Fatal(err)
		}
		files[path] = "/packages/" + version + ".deb"
	}
	assistant.Build(t, "../interop", folder, "./client")
	files[filepath.Join(folder, "client")] = "/packages/client"
	return files
}

// run runs a program that has to succeed and returns what it printed.
func run(t *testing.T, words ...string) string {
	t.Helper()
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8", "PATH=/usr/sbin:/usr/bin:/sbin:/bin")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", words, err, out)
	}
	return string(out)
}

// fails says whether a program fails.
func fails(words ...string) bool { return exec.Command(words[0], words[1:]...).Run() != nil }

// tree lists every file of the system but those of the kernel, of the running
// system and of the package manager itself.
func tree(t *testing.T) (files []string) {
	t.Helper()
	passed := []string{"/proc", "/sys", "/dev", "/run", "/tmp", "/var/tmp", "/result", "/packages", "/sentinel.test", "/var/lib/dpkg", "/var/log", "/var/cache", "/var/lib/apt", "/var/lib/systemd", "/root", "/home"}
	err := filepath.WalkDir("/", func(path string, d fs.DirEntry, err error) error {
		if slices.Contains(passed, path) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		files = append(files, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestThePackageFromInstallationToRemoval(t *testing.T) {
	if !testenv.BootedWith(t, nil, build(t)) {
		return
	}
	before := tree(t)
	run(t, "dpkg", "--install", "/packages/0.1.0.deb")
	run(t, "useradd", "--create-home", "--groups", "sentinel", user)
	if !t.Run("everything is in place", inPlace) || !t.Run("an assistant uses it", assists) {
		t.FailNow()
	}
	t.Run("an upgrade keeps what was configured", upgrades)
	t.Run("a removal cleans up", removes)
	run(t, "apt-get", "purge", "--yes", "sentinel")
	run(t, "userdel", "--remove", user)
	for _, path := range tree(t) {
		if !slices.Contains(before, path) && !strings.HasPrefix(path, "/var/lib/sentinel") && !strings.Contains(path, "/etc/group") && !strings.Contains(path, "/etc/gshadow") &&
			!strings.Contains(path, "/etc/passwd") && !strings.Contains(path, "/etc/shadow") && !strings.Contains(path, "/etc/sub") && path != "/etc/.pwd.lock" && path != "/var/lib" && path != "/var/mail/"+user {
			t.Errorf("%s is left", path)
		}
	}
	if _, err := os.Stat("/var/log/sentinel/journal.jsonl"); err != nil {
		t.Errorf("the journal did not stay: %v", err)
	}
	if _, err := os.Stat("/etc/sentinel"); err == nil {
		t.Error("/etc/sentinel is left after a purge")
	}
}

func inPlace(t *testing.T) {
	if changed := run(t, "dpkg", "--verify", "sentinel"); changed != "" {
		t.Errorf("dpkg finds changed files:\n%s", changed)
	}
	run(t, "visudo", "--check")
	for _, unit := range []string{"sentinel-restore.service", "sentinel-restore.timer"} {
		run(t, "systemctl", "is-enabled", unit)
	}
	run(t, "systemctl", "is-active", "sentinel-restore.timer")
	if fails("man", "--version") {
		t.Log("man is not there; the pages are checked where they are made")
	}
	var d assistant.Document
	if err := json.Unmarshal([]byte(run(t, "runuser", "-u", user, "--", "sentinel", "--doctor", "--json")), &d); err != nil {
		t.Fatal(err)
	}
	for _, check := range d.Rows("checks") {
		t.Logf("doctor: %v", check)
		if status := check.Text("status"); status != "ok" && status != "OK" && status != "PASS" {
			t.Errorf("the doctor says: %v", check)
		}
	}
}

func connect(t *testing.T) *assistant.Session {
	t.Helper()
	return assistant.Start(t, "runuser", "-u", user, "--", "/packages/client", "/usr/bin/sentinel-mcp")
}

// assists asks what people ask, as a user whom the rules of sudo let do it.
func assists(t *testing.T) {
	s := connect(t)
	health := s.Call("", "get_system_health", map[string]any{})
	if health.Text("threat_level") == "" || health.Text("agent_uuid") == "" {
		t.Errorf("how is my system doing? %v", health)
	}
	if health.Text("firewall_status") == "UNKNOWN" {
		t.Errorf("the firewall is unknown, so this was not root: %v", health)
	}
	s.Call("", "block_ip_address", map[string]any{"ip": "203.0.113.7", "reason": "test"})
	if set := run(t, "nft", "list", "table", "inet", "sentinel"); !strings.Contains(set, "203.0.113.7") {
		t.Errorf("the packet filter has not got the address:\n%s", set)
	}
	if fails("runuser", "-u", user, "--", "sudo", "-n", "/usr/bin/sentinel", "--request", "get_system_health") {
		t.Error("the rules of sudo do not let the user read")
	}
	if !fails("runuser", "-u", user, "--", "sudo", "-n", "/usr/bin/sentinel", "--json") {
		t.Error("the rules of sudo allow another command line")
	}
}

func upgrades(t *testing.T) {
	const own = "policy:\n  destructive_per_minute: 3\n"
	if err := os.WriteFile("/etc/sentinel/config.yaml", []byte(own), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, "systemctl", "disable", "--now", "sentinel-restore.timer")
	run(t, "dpkg", "--install", "/packages/0.1.1.deb")
	if version := run(t, "dpkg-query", "--show", "--showformat=${Version}", "sentinel"); version != "0.1.1-1" {
		t.Errorf("version %s is installed", version)
	}
	if raw, err := os.ReadFile("/etc/sentinel/config.yaml"); err != nil || string(raw) != own {
		t.Errorf("the configuration is %q, %v", raw, err)
	}
	if !fails("systemctl", "is-enabled", "sentinel-restore.timer") {
		t.Error("the upgrade switched on what the administrator had switched off")
	}
	run(t, "systemctl", "enable", "--now", "sentinel-restore.timer")
	if set := run(t, "nft", "list", "table", "inet", "sentinel"); !strings.Contains(set, "203.0.113.7") {
		t.Errorf("the upgrade lost a block:\n%s", set)
	}
}

func removes(t *testing.T) {
	run(t, "apt-get", "remove", "--yes", "sentinel")
	for _, path := range []string{"/usr/bin/sentinel", "/usr/bin/sentinel-mcp", "/usr/lib/systemd/system/sentinel-restore.service", "/etc/systemd/system/timers.target.wants/sentinel-restore.timer"} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is left", path)
		}
	}
	if !fails("nft", "list", "table", "inet", "sentinel") {
		t.Error("the packet filter still blocks, and nobody could lift it")
	}
	if failed := run(t, "systemctl", "--failed", "--no-legend", "--plain"); strings.Contains(failed, "sentinel") {
		t.Errorf("failed units are left: %s", failed)
	}
	for _, path := range []string{"/etc/sentinel/config.yaml", "/var/lib/sentinel/blocklist.json", "/var/log/sentinel/journal.jsonl"} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s did not stay: %v", path, err)
		}
	}
}
