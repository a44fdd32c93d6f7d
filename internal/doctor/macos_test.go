// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"strings"
	"syscall"
	"testing"

	"sentinel/internal/elevation"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// entry is what id(1) prints of an ordinary user.
const entry = "ann:********:501:20::0:0:Ann Example:/Users/ann:/bin/zsh\n"

// A mac plays the programs that the doctor asks, by the path of each.
type mac map[string]sysexec.Result

// Run implements [sysexec.Runner].
func (m mac) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	r, ok := m[c.Path]
	if name, asked := map[string]string{"-un": "ann\n", "-Gn": "staff\n"}[c.Args[0]]; ok && c.Path == "/usr/bin/id" && asked {
		r.Stdout = []byte(name)
	}
	if !ok || c.Timeout == 0 {
		return sysexec.Result{}, fs.ErrNotExist
	}
	return r, nil
}

func answers() mac {
	return mac{
		sudo: {}, "/usr/bin/id": {Stdout: []byte(entry)},
		"/usr/bin/xattr": {Exit: 1, Stderr: []byte("xattr: " + own + ": No such xattr: com.apple.quarantine\n")},
	}
}

// wellMac is a Mac on which everything is as it should be.
func wellMac(t *testing.T, more map[string]string) Target {
	t.Helper()
	files := map[string]string{
		own[1:]: "x", "usr/local/bin/sentinel-mcp": "x", "usr/bin/sudo": "x", "etc/sudoers.d/sentinel": "x", "etc/sentinel/config.yaml": "", "usr/local/share/sentinel/sudoers": "x",
		"var/lib/sentinel/": "", "var/log/sentinel/": "", "Library/LaunchDaemons/com.sentinel.record.plist": "x", "Users/ann/" + tccDatabase: "x",
		"Users/ann/Library/Application Support/Claude/claude_desktop_config.json": `{"mcpServers":{"sentinel":{"command":"/usr/local/bin/sentinel-mcp"}}}`,
	}
	for _, path := range macProgramPaths() {
		files[path[1:]] = "x"
	}
	maps.Copy(files, more)
	root := testenv.Plant(t, files)
	mode(t, root+"/usr/bin/sudo", 0o755|fs.ModeSetuid)
	mode(t, root+"/etc/sudoers.d/sentinel", 0o440)
	fine := func(context.Context) (string, error) { return "fine", nil }
	return Target{
		Root: root, OS: "darwin", Version: "1.2.3", User: User{UID: 501},
		Binary: func() (string, error) { return own, nil }, Trusted: func(string) error { return nil }, TrustedLog: func(string) error { return nil },
		Owned: func(string) error { return errors.New("not the user's") }, Reports: func(context.Context) (Reporting, error) { return Reporting{}, nil }, Recorder: sampled,
		Tools: []Tool{{"terminate_process", true, "SENTINEL_WRITE"}}, ConfigPath: "/etc/sentinel/config.yaml", AskRequired: true, StateDir: "/var/lib/sentinel", JournalDir: "/var/log/sentinel",
		Programs: answers(), OSVersion: func(context.Context) (string, error) { return "macOS 26.6 (25G72)", nil },
		Journal: fine, Blocklist: fine, PacketFilter: fine, Firewall: fine, ServiceManager: fine,
	}
}

func TestAHealthyMacHasNothingToFix(t *testing.T) {
	r := Examine(t.Context(), wellMac(t, nil))
	for _, f := range r.Checks {
		if f.ID == "restore" || f.ID == "local_network" {
			continue // launchd's is judged elsewhere; the other depends on the client
		}
		if f.Status != OK || f.Value == "" || f.Name == "" || f.Fix != "" {
			t.Errorf("%+v", f)
		}
	}
	if len(r.Checks) != applicable("darwin") {
		t.Errorf("%d findings", len(r.Checks))
	}
	if f := find(t, r, "system"); f.Value != "sentinel 1.2.3 on macOS 26.6 (25G72)" {
		t.Errorf("%q", f.Value)
	}
	if f := find(t, r, "client.claude_desktop"); f.Value != "It starts /usr/local/bin/sentinel-mcp." {
		t.Errorf("%+v", f)
	}
}

func TestWhatIsWrongOnAMacIsFoundAndHasAFix(t *testing.T) {
	answer := func(path string, r sysexec.Result) func(*testing.T, *Target) {
		return func(_ *testing.T, p *Target) {
			m := answers()
			m[path] = r
			p.Programs = m
		}
	}
	remove := func(path string) func(*testing.T, *Target) {
		return func(t *testing.T, p *Target) {
			t.Helper()
			must(t, os.RemoveAll(p.at(path)))
		}
	}
	version := func(name string) func(*testing.T, *Target) {
		return func(_ *testing.T, p *Target) {
			p.OSVersion = func(context.Context) (string, error) { return name, nil }
		}
	}
	for _, test := range []struct {
		name             string
		change           func(*testing.T, *Target)
		id, status       string
		says, fix, never string
	}{
		{"old macOS", version("macOS 11.7.10 (20G1427)"), "system", Warning, "11.7.10", "macOS 12", ""},
		{"macOS of no version", version("macOS"), "system", Unknown, "unknown version", "sw_vers", ""},
		{"nobody who knows the version", func(_ *testing.T, p *Target) { p.OSVersion = nil }, "system", Unknown, "unknown version", "", ""},
		{"no server", remove("/usr/local/bin/sentinel-mcp"), "server", Warning, "no /usr/local/bin/sentinel-mcp", "sudo make install", "-o root"},
		{"Homebrew's folder", func(_ *testing.T, p *Target) { p.Trusted = suspect("/usr/local/bin", "/bin/sentinel") }, "binary", Problem, "root is not used", "sudo make install", "-m 755 /usr/local/bin"},
		{"no rules", remove("/etc/sudoers.d/sentinel"), "sudoers_file", Warning, "There is no", "sudo install -o root -g wheel -m 0440 /usr/local/share/sentinel/sudoers /etc/sudoers.d/sentinel", "-g root"},
		{"sudo refuses", answer(sudo, sysexec.Result{Exit: 1}), "sudo_rules", Warning, "does not let ann run 1 of 1", "sudo dseditgroup -o edit -a ann -t user sentinel", "usermod"},
		{"sudo that cannot become root", func(t *testing.T, p *Target) { mode(t, p.at("/usr/bin/sudo"), 0o755) }, "sudo", Problem, "set-user-ID", "install macOS", "package manager"},
		{"no /var/lib", remove("/var/lib"), "state_folder", OK, "the first change makes it", "", ""},
		{"no user", answer("/usr/bin/id", sysexec.Result{Exit: 1, Stderr: []byte("id: 501: no such user\n")}), "clients", Unknown, "no user 501", "", ""},
		{"another user", answer("/usr/bin/id", sysexec.Result{Stdout: []byte(strings.Replace(entry, "501", "502", 1))}), "clients", Unknown, "no user 501", "", ""},
		{"no packet filter", func(_ *testing.T, p *Target) {
			p.PacketFilter = func(context.Context) (string, error) { return "", errors.New("off") }
		}, "packet_filter", Warning, "off", "pfctl", "nftables"},
		{"no launchd", func(_ *testing.T, p *Target) {
			p.ServiceManager = func(context.Context) (string, error) { return "", errors.New("off") }
		}, "service_manager", Warning, "off", "launchctl", "systemd"},
		{"a program is missing", remove("/sbin/pfctl"), "programs", Problem, "/sbin/pfctl", "part of macOS", ""},
		{"both are marked", answer("/usr/bin/xattr", sysexec.Result{Stdout: []byte(own + ": 0083;5991b778;Safari;\n/usr/local/bin/sentinel-mcp: 0083;5991b778;Safari;\n")}), "quarantine", Problem, own + ", /usr/local/bin/sentinel-mcp", "sudo xattr -d com.apple.quarantine " + own + " /usr/local/bin/sentinel-mcp", ""},
		{"one is marked", answer("/usr/bin/xattr", sysexec.Result{Exit: 1, Stdout: []byte("/usr/local/bin/sentinel-mcp: 0083;5991b778;Safari;\n")}), "quarantine", Problem, "sentinel-mcp", "quarantine /usr/local/bin/sentinel-mcp", own + " "},
		{"no xattr", func(_ *testing.T, p *Target) { m := answers(); delete(m, "/usr/bin/xattr"); p.Programs = m }, "quarantine", Unknown, "cannot be checked", "", ""},
		{"another language", answer("/usr/bin/xattr", sysexec.Result{Exit: 1, Stderr: []byte("Nicht erlaubt\n")}), "quarantine", Unknown, "does not tell", "", ""},
		{"no protected file", remove("/Users/ann/Library/Application Support/com.apple.TCC"), "full_disk_access", Unknown, "cannot be opened", "", ""},
		{"no protected file of the system", func(_ *testing.T, p *Target) { p.AsRoot = true }, "full_disk_access", Unknown, "cannot be opened", "", ""},
		{"a client that starts servers apart", answer("/usr/bin/true", sysexec.Result{}), "local_network", Unknown, "no route to host", "Terminal", "switch on"},
		{"a client that does not start ours", remove("/Users/ann/Library/Application Support/Claude"), "local_network", OK, "Terminal", "", ""},
		{"before macOS 15", version("macOS 14.7 (23H124)"), "local_network", OK, "every program", "", ""},
		{"another language", version("macOS"), "local_network", Unknown, "version", "", ""},
		{"no client", remove("/Users/ann/Library"), "clients", Unknown, "/Users/ann", "sentinel-mcp", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := wellMac(t, nil)
			test.change(t, &p)
			f := find(t, Examine(t.Context(), p), test.id)
			if f.Status != test.status || !strings.Contains(f.Value, test.says) || !strings.Contains(f.Fix, test.fix) || test.never != "" && strings.Contains(f.Fix, test.never) {
				t.Errorf("%+v, want %s, %q, fix %q without %q", f, test.status, test.says, test.fix, test.never)
			}
		})
	}
}

// EPERM is the answer of TCC, also to root; EACCES that of owner and mode.
func TestFullDiskAccessIsToldFromTheModeOfTheFile(t *testing.T) {
	for _, test := range []struct {
		err    error
		status string
		fix    string
	}{
		{nil, OK, ""}, {&fs.PathError{Err: syscall.EPERM}, Warning, "Full Disk Access, add /usr/local/bin/sentinel-mcp for Claude Desktop"}, {&fs.PathError{Err: syscall.EACCES}, Unknown, "sudo sentinel --doctor"},
		{&fs.PathError{Err: syscall.ENOENT}, Unknown, ""}, {&fs.PathError{Err: syscall.EIO}, Unknown, ""},
	} {
		f := Target{OS: "darwin", Binary: func() (string, error) { return own, nil }}.diskAccessFinding(test.err)[0]
		if f.Status != test.status || !strings.Contains(f.Fix, test.fix) || test.fix == "" && f.Fix != "" {
			t.Errorf("%v: %+v", test.err, f)
		}
	}
}

// A fix that was cut cannot be pasted.
func TestFixesOfAMacAreNotCut(t *testing.T) {
	p := wellMac(t, nil)
	p.Trusted = suspect("/usr/local/bin")
	p.Binary = func() (string, error) { return "/Users/somebody.with.a.name/Downloads/sentinel", nil }
	for _, fix := range []string{p.installFix(), elevation.Look(t.Context(), p.machine()).JoinFix(), p.diskAccessFinding(syscall.EPERM)[0].Fix} {
		if len(fix) > maxFix {
			t.Errorf("%d bytes: %s", len(fix), fix)
		}
	}
}
