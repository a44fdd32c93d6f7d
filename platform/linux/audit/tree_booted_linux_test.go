// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sentinel/internal/audit"
	"sentinel/internal/audit/audittest"
	"sentinel/internal/testenv"
)

// look makes one check of the running system.
func look(t *testing.T, id string) audit.Finding {
	t.Helper()
	for _, c := range New(live()).Checks() {
		if c.ID == id {
			return c.Run(t.Context())
		}
	}
	t.Fatalf("there is no check %s", id)
	return audit.Finding{}
}

// named says whether a piece of evidence begins with one of the paths, and none
// with another.
func named(f audit.Finding, paths ...string) bool {
	return len(f.Evidence) == len(paths) && !slices.ContainsFunc(paths, func(p string) bool {
		return !slices.ContainsFunc(f.Evidence, func(e string) bool { return strings.HasPrefix(e, p+":") })
	})
}

func copyOf(t *testing.T, program, to string, mode os.FileMode) {
	t.Helper()
	raw, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, raw, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(to, mode); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(to) })
}

// A Debian as it is installed passes, and each thing that is put into it is
// found, there and nowhere else.
func TestFindsWhatIsPutIntoARealSystem(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	t.Run("as installed", func(t *testing.T) {
		for _, id := range []string{"tree.setuid", "tree.world_writable", "tree.unowned", "tree.programs", "tree.unpackaged", "files.shadow", "files.passwd", "files.ssh_host_keys", "files.cron", "files.units", "files.shared_folders", "files.homes", "logging.permissions", "logging.service"} {
			if f := look(t, id); f.Status != audit.Pass {
				t.Errorf("%s: %s", id, audittest.Verdict(f))
			}
		}
	})
	t.Run("the same programs as find", sameAsFind)
	t.Run("set-user-ID", func(t *testing.T) {
		copyOf(t, "/bin/dash", "/srv/.hidden/dash", 0o755|os.ModeSetuid)
		copyOf(t, "/bin/dash", "/root/private/dash", 0o755|os.ModeSetuid)
		copyOf(t, "/bin/dash", "/usr/bin/find", 0o755|os.ModeSetuid)
		if err := os.Chmod("/root", 0o700); err != nil {
			t.Fatal(err)
		}
		if f := look(t, "tree.setuid"); f.Status != audit.Fail || !named(f, "/srv/.hidden/dash", "/usr/bin/find") {
			t.Error(audittest.Verdict(f))
		}
	})
	t.Run("writable and unowned", func(t *testing.T) {
		copyOf(t, "/etc/hostname", "/etc/a", 0o646)
		copyOf(t, "/etc/hostname", "/usr/lib/b", 0o644)
		if err := os.Chown("/usr/lib/b", 4242, 0); err != nil {
			t.Fatal(err)
		}
		if f := look(t, "tree.world_writable"); f.Status != audit.Fail || !named(f, "/etc/a") {
			t.Error(audittest.Verdict(f))
		}
		if f := look(t, "tree.unowned"); f.Status != audit.Warn || !named(f, "/usr/lib/b") {
			t.Error(audittest.Verdict(f))
		}
		if f := look(t, "tree.programs"); f.Status != audit.Fail || !named(f, "/usr/lib/b") {
			t.Error(audittest.Verdict(f))
		}
	})
	t.Run("of no package", func(t *testing.T) {
		copyOf(t, "/bin/true", "/usr/bin/older", 0o755)
		copyOf(t, "/bin/true", "/usr/sbin/newer", 0o755)
		before := time.Now().Add(-240 * time.Hour)
		if err := os.Chtimes("/usr/bin/older", before, before); err != nil {
			t.Fatal(err)
		}
		if f := look(t, "tree.unpackaged"); f.Status != audit.Warn || !named(f, "/usr/sbin/newer", "/usr/bin/older") || !strings.HasPrefix(f.Evidence[0], "/usr/sbin/newer") {
			t.Error(audittest.Verdict(f))
		}
	})
	t.Run("deleted programs", deletedForReal)
}

func sameAsFind(t *testing.T) {
	command := exec.CommandContext(t.Context(), "/usr/bin/find", "/", "-xdev", "-type", "f", "-perm", "/6000")
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(string(out))
	list, err := (&machine{Parts: live()}).setuidPrograms(t.Context())
	found, whole := audittest.Seen(list)
	var got []string
	for _, s := range found {
		got = append(got, s.path)
	}
	slices.Sort(want)
	slices.Sort(got)
	if err != nil || !whole || len(want) < 5 || !slices.Equal(want, got) {
		t.Errorf("%v, whole: %v\n got %v\nwant %v", err, whole, got, want)
	}
}

func deletedForReal(t *testing.T) {
	for _, c := range []struct {
		file    string
		replace bool
		want    audit.Status
		says    string
	}{{"/tmp/.x", false, audit.Fail, "/tmp/.x (deleted)"}, {"/usr/local/bin/old", true, audit.Warn, "replaced since"}, {"/opt/gone", false, audit.Warn, "/opt/gone (deleted)"}} {
		copyOf(t, "/bin/sleep", c.file, 0o755)
		running := exec.CommandContext(t.Context(), c.file, "60")
		if err := running.Start(); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(c.file); err != nil {
			t.Fatal(err)
		}
		if c.replace {
			copyOf(t, "/bin/sleep", c.file, 0o755)
		}
		f := look(t, "processes.program_gone")
		if f.Status != c.want || len(f.Evidence) != 1 || !strings.Contains(f.Evidence[0], c.says) {
			t.Errorf("%s: %s", c.file, audittest.Verdict(f))
		}
		if err := running.Process.Kill(); err != nil {
			t.Error(err)
		}
		if err := running.Wait(); err == nil {
			t.Error("the program ended by itself")
		}
	}
	if f := look(t, "processes.program_gone"); f.Status != audit.Pass {
		t.Error(audittest.Verdict(f))
	}
}

// What an ordinary user does not see is not taken for good.
func TestOrdinaryUsersGetNoPassForWhatTheyDoNotSee(t *testing.T) {
	testenv.Namespaces(t)
	if !testenv.Inside(t, "unshare", "--mount", "--propagation", "private", "sh", "-c", `mount -t tmpfs -o mode=0755 tmpfs /mnt && exec "$@"`, "sh") {
		return
	}
	const root = "/mnt" // is gone with the namespace: the user could not clear it away
	fill(t, root, "hardened")
	if err := os.Mkdir(filepath.Join(root, "srv"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"home/mira", "etc/ssl/private", "etc/audit/rules.d", "etc/docker", "etc/cron.d", "etc/apt/apt.conf.d"} {
		if err := os.Chmod(filepath.Join(root, secret), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Become(t, testenv.Nobody)
	found := map[string]audit.Finding{}
	for _, c := range New(Parts{Root: root, EUID: testenv.Nobody, Now: today}).Checks() {
		found[c.ID] = c.Run(t.Context())
	}
	for _, id := range []string{
		"tree.world_writable", "tree.unowned", "tree.setuid", "tree.programs", "files.homes", "files.cron", "files.secrets", "files.boot_password", "files.boot_loader",
		"logging.permissions", "logging.audit", "logging.audit_rules", "containers.network", "mcp.config", "mcp.command", "mcp.missing", "updates.automatic", "updates.security", "services.exposed", "services.snmp",
	} {
		if f := found[id]; f.Status != "" || !f.Applies {
			t.Errorf("%s: %s", id, audittest.Verdict(f))
		}
	}
	for _, id := range []string{"files.shadow", "files.passwd", "mounts.tmp", "time.service", "updates.supported"} {
		if f := found[id]; f.Status != audit.Pass {
			t.Errorf("%s: %s", id, audittest.Verdict(f))
		}
	}
	if f := look(t, "processes.program_gone"); f.Status == audit.Pass {
		t.Errorf("processes.program_gone of the running system: %s", audittest.Verdict(f))
	}
}

// Root is not led out of a home by a link in it.
func TestConfigurationsOfUsersAreReadInTheirHomes(t *testing.T) {
	root := testenv.Plant(t, map[string]string{
		"etc/passwd": "mira:x:1000:1000::/home/mira:/bin/sh\n", "etc/group": "", "home/mira/": "", "home/mira/.cursor/": "",
		"root/.claude.json": `{"mcpServers": {"secret": {"command": "/opt/secret"}}}`,
	})
	for _, link := range []string{"/root/.claude.json", "../../root/.claude.json"} {
		path := filepath.Join(root, "home/mira/.claude.json")
		os.Remove(path)
		if err := os.Symlink(link, path); err != nil {
			t.Fatal(err)
		}
		m := &machine{Parts: Parts{Root: root, Owner: os.Geteuid()}}
		all, err := m.mcp(t.Context())
		servers, whole := audittest.Seen(all.List())
		if err != nil || whole || len(servers) != 1 || servers[0].User.Name != "root" {
			t.Errorf("%s: %+v, %v", link, servers, err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(root, "home/mira/.cursor/mcp.json"), 0o666); err != nil {
		t.Fatal(err)
	}
	all, err := (&machine{Parts: Parts{Root: root, Owner: os.Geteuid()}}).mcp(t.Context())
	if _, whole := audittest.Seen(all.List()); err != nil || whole {
		t.Errorf("a pipe: %+v, %v", all, err)
	}
}

// The whole audit of the machine that the benchmark runs on, which it only reads,
// the package manager's own run left out.
func BenchmarkAudit(b *testing.B) {
	for b.Loop() {
		r, err := audit.Run(b.Context(), New(liveParts()), audit.Options{})
		if err != nil || r.Evaluated < 40 {
			b.Fatalf("%d verdicts, %v", r.Evaluated, err)
		}
	}
}
