// SPDX-License-Identifier: Apache-2.0

// Package scripts tests assumptions of the packages' scripts.
package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sentinel/internal/clients"
	"sentinel/internal/testenv"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestDirOfRootAloneIsToldFromOthers(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	must(t, unix.Mount("tmpfs", "/mnt", "tmpfs", 0, "mode=755"))
	for _, dir := range []string{"own/bin", "user/bin", "group/bin", "everyone/bin", "links"} {
		must(t, os.MkdirAll(filepath.Join("/mnt", dir), 0o755))
	}
	must(t, os.Chown("/mnt/user", 1000, 0))
	must(t, os.Chmod("/mnt/group", 0o775))
	must(t, os.Chmod("/mnt/everyone", 0o777|os.ModeSticky))
	for name, target := range map[string]string{"good": "/mnt/own/bin", "bad": "/mnt/user/bin", "theirs": "/mnt/own/bin"} {
		must(t, os.Symlink(target, filepath.Join("/mnt/links", name)))
	}
	must(t, os.Lchown("/mnt/links/theirs", 1000, 0))
	for path, want := range map[string]bool{
		"/mnt/own/bin": true, "/mnt/own/bin/not/there": true, "/": true, "/mnt/links/good": true, "/mnt/links/good/sub": true,
		"/mnt/user/bin": false, "/mnt/user/not/there": false, "/mnt/group/bin": false, "/mnt/everyone/bin": false,
		"/mnt/links/bad": false, "/mnt/links/bad/sub": false, "/mnt/links/theirs": false, "mnt": false, "": false,
	} {
		out, err := exec.Command("/bin/sh", "rootonly.sh", path).CombinedOutput()
		if (err == nil) != want || (len(out) == 0) != want {
			t.Errorf("%q: %v, %s", path, err, out)
		}
	}
	if exec.Command("/bin/sh", "rootonly.sh", "/mnt/own/bin", "/mnt/user/bin").Run() == nil {
		t.Error("only the first folder is looked at")
	}
}

// A disk that takes nothing must not keep the package.
func TestAReadOnlyDiskKeepsNoPackage(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	must(t, unix.Mount("tmpfs", "/var/lib", "tmpfs", 0, "mode=755"))
	must(t, os.MkdirAll("/var/lib/prometheus/node-exporter", 0o755))
	must(t, os.WriteFile("/var/lib/prometheus/node-exporter/sentinel.prom", nil, 0o600))
	must(t, unix.Mount("", "/var/lib", "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	bin := t.TempDir()
	must(t, os.WriteFile(filepath.Join(bin, "systemctl"), []byte("#!/bin/sh\n[ \"$1\" != is-enabled ] || echo enabled\n"), 0o755))
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	if out, err := exec.Command("/bin/sh", "preremove.sh", "remove").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// The configuration may be in files of config.d alone: a unit that waits for config.yaml
// would be skipped without a word.
func TestUnitsRunWithoutTheOptionalFile(t *testing.T) {
	units, err := filepath.Glob("../systemd/*.service")
	must(t, err)
	if len(units) < 4 {
		t.Errorf("units: %q", units)
	}
	for _, unit := range units {
		raw, err := os.ReadFile(unit)
		must(t, err)
		for line := range strings.Lines(string(raw)) {
			if before, _, _ := strings.Cut(line, "="); (strings.HasPrefix(before, "Condition") || strings.HasPrefix(before, "Assert")) && strings.Contains(line, "/etc/sentinel") {
				t.Errorf("%s: %s", unit, line)
			}
		}
	}
}

// homesOf gives a test homes with files and a getent that knows them.
func homesOf(t *testing.T, homes map[string]map[string]string) {
	t.Helper()
	must(t, unix.Mount("tmpfs", "/mnt", "tmpfs", 0, "mode=755"))
	dir, passwd := "/mnt", ""
	for user, files := range homes {
		home := filepath.Join(dir, "homes", user)
		passwd += user + ":x:1000:1000::" + home + ":/bin/sh\n"
		for name, text := range files {
			path := filepath.Join(home, name)
			must(t, os.MkdirAll(filepath.Dir(path), 0o755))
			if text == "pipe" {
				must(t, unix.Mkfifo(path, 0o644))
				continue
			}
			if target, ok := strings.CutPrefix(text, "link "); ok {
				must(t, os.Symlink(target, path))
				continue
			}
			must(t, os.WriteFile(path, []byte(text), 0o600))
			must(t, os.Chown(path, 1000, 1000))
		}
	}
	must(t, os.WriteFile(filepath.Join(dir, "passwd"), []byte(passwd+"none:x:1:1::/nowhere:/bin/false\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "getent"), []byte("#!/bin/sh\ncat "+filepath.Join(dir, "passwd")+"\n"), 0o755))
	t.Setenv("PATH", dir+":/usr/bin:/bin")
}

// Without the guard, what clients start through it fails in words that tell nobody why.
func TestRemovalNamesWhoseServersAreBehindTheGuard(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	must(t, unix.Mount("tmpfs", "/var/lib", "tmpfs", 0, "mode=755"))
	const wrapped = `{"mcpServers": {"a": {"command": "/usr/bin/sentinel-guard", "args": ["run", "--", "x"]}}}`
	homesOf(t, map[string]map[string]string{
		"ann":  {".claude.json": "{}", ".cursor/mcp.json": wrapped, ".config/Code/User/mcp.json": wrapped},
		"bob":  {".claude.json": `{"history": ["the \\"command\\": \\"sentinel-guard\\" of"], "mcpServers": {"a": {"command": "/opt/not-sentinel-guard"}}}`},
		"eve":  {".claude.json": "pipe"},
		"mal":  {".claude.json": "link /mnt/root.json"},
		"carl": {".config/zed/settings.json": "{\"context_servers\": {\"a\": {\"command\"\n : \"x\"}, \"b\": {\"command\" :\t\"sentinel-guard\"}}}"},
	})
	must(t, os.WriteFile("/mnt/root.json", []byte(wrapped), 0o600))
	said := func(word string) string {
		out, err := exec.Command("/bin/sh", "preremove.sh", word).CombinedOutput()
		must(t, err)
		return string(out)
	}
	for _, word := range []string{"remove", "0"} {
		out := said(word)
		if !strings.Contains(out, "cannot start them any longer: ann carl \n") || !strings.Contains(out, `have each of them run "sentinel-guard unwrap --all"`) {
			t.Errorf("%s: %s", word, out)
		}
	}
	for _, word := range []string{"upgrade", "1", "failed-upgrade", "deconfigure"} {
		if out := said(word); out != "" {
			t.Errorf("%s: %s", word, out)
		}
	}
}

// The key and the head belong to the journal, which a purge leaves.
func TestPurgeLeavesTheKeyOfAJournalThatIsThere(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	bin := t.TempDir()
	for name, text := range map[string]string{"systemctl": "", "getent": "echo sentinel:x:990:ann\n"} {
		must(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text), 0o755))
	}
	for journal, stays := range map[string]bool{"journal.jsonl": true, "journal-00000000000000000001.jsonl.gz": true, "": false} {
		for _, dir := range []string{"/var/lib", "/var/log"} {
			must(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"))
			must(t, os.Mkdir(dir+"/sentinel", 0o755))
		}
		for _, name := range []string{"journal-key", "journal-head", "journal-turn-1000.lock"} {
			must(t, os.WriteFile("/var/lib/sentinel/"+name, nil, 0o600))
		}
		if journal != "" {
			must(t, os.WriteFile("/var/log/sentinel/"+journal, nil, 0o600))
		}
		purge := exec.Command("/bin/sh", "postremove.sh", "purge")
		purge.Env = []string{"PATH=" + bin + ":/usr/sbin:/usr/bin:/sbin:/bin"}
		if out, err := purge.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		_, err := os.Stat("/var/lib/sentinel/journal-key")
		if _, there := os.Stat("/var/lib/sentinel"); (err == nil) != stays || (there == nil) != stays {
			t.Errorf("beside %q the key stays: %t, the directory: %t; want %t", journal, err == nil, there == nil, stays)
		}
		if _, err := os.Stat("/var/lib/sentinel/journal-turn-1000.lock"); err == nil {
			t.Errorf("beside %q the lock of a user stays", journal)
		}
		for _, dir := range []string{"/var/lib", "/var/log"} {
			must(t, unix.Unmount(dir, unix.MNT_DETACH))
		}
	}
}

// Both scripts look into all files that clients have below a home.
func TestRemovalLooksWhereClientsKeepServers(t *testing.T) {
	for goos, script := range map[string]string{"linux": "preremove.sh", "darwin": "../macos/uninstall.sh"} {
		raw, err := os.ReadFile(script)
		must(t, err)
		_, list, _ := strings.Cut(string(raw), "for file in ")
		list, _, _ = strings.Cut(list, "; do")
		var want []string
		for _, file := range clients.HomeFiles(goos) {
			if strings.Contains(file, " ") {
				file = `"` + file + `"`
			}
			want = append(want, file)
		}
		for _, file := range want {
			if !strings.Contains(" "+list+" ", " "+file+" ") {
				t.Errorf("%s does not look into %s", script, file)
			}
		}
		if len(list) != len(strings.Join(want, " ")) {
			t.Errorf("%s looks into others: %s", script, list)
		}
	}
}

// A timer that an upgrade brings is switched on once, and what the administrator switched off stays so.
func TestWhatPostinstallSwitchesOn(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	bin := t.TempDir()
	for name, text := range map[string]string{"systemctl": `[ "$1" != enable ] || echo "$2" >> ` + bin + "/enabled", "getent": "echo sentinel:x:999:"} {
		must(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	}
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	install := func(args ...string) (enabled []string) {
		must(t, os.RemoveAll(filepath.Join(bin, "enabled")))
		if out, err := exec.Command("/bin/sh", append([]string{"postinstall.sh"}, args...)...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v: %s", args, err, out)
		}
		raw, err := os.ReadFile(filepath.Join(bin, "enabled"))
		if err != nil {
			return nil
		}
		return strings.Fields(string(raw))
	}
	const restore, record = "sentinel-restore.service", "sentinel-record.timer"
	fresh := func(files ...string) {
		unix.Unmount("/var/lib", unix.MNT_DETACH)
		must(t, unix.Mount("tmpfs", "/var/lib", "tmpfs", 0, "mode=755"))
		for _, name := range files {
			must(t, os.MkdirAll("/var/lib/sentinel/"+name, 0o755))
		}
	}
	for name, c := range map[string]struct {
		there []string   // before
		calls [][]string // of the script
		want  [][]string // enabled by each
	}{
		"dpkg, first and again":        {nil, [][]string{{"configure", ""}, {"configure", "0.1.0"}}, [][]string{{restore, record}, nil}},
		"rpm, first and again":         {nil, [][]string{{"1"}, {"2"}}, [][]string{{restore, record}, nil}},
		"dpkg, from one without":       {nil, [][]string{{"configure", "0.0.9"}, {"configure", "0.1.0"}}, [][]string{{record}, nil}},
		"rpm, from one without":        {nil, [][]string{{"2"}, {"2"}}, [][]string{{record}, nil}},
		"it has recorded":              {[]string{"recorder"}, [][]string{{"configure", "0.1.0"}}, [][]string{nil}},
		"a call that installs nothing": {nil, [][]string{{"abort-upgrade", "0.1.0"}, {"configure", ""}}, [][]string{nil, {restore, record}}},
	} {
		fresh(c.there...)
		for i, args := range c.calls {
			if got := install(args...); !cmp.Equal(got, c.want[i]) {
				t.Errorf("%s, %v: %v, want %v", name, args, got, c.want[i])
			}
		}
	}
	fresh()
	must(t, os.MkdirAll("/var/lib/sentinel", 0o755))
	must(t, os.WriteFile("/var/lib/sentinel/units", []byte(restore+"\n"), 0o644))
	must(t, os.WriteFile("/var/lib/sentinel/offered", nil, 0o644))
	if got := install("configure", "0.1.0"); !cmp.Equal(got, []string{restore}) {
		t.Errorf("after a removal: %v", got)
	}
	must(t, unix.Mount("", "/var/lib", "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	install("configure", "0.1.0")
}
