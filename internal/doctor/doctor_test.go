// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"sentinel/internal/clients"
	"sentinel/internal/fault"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// programs answers commands with do and keeps what it was asked.
type programs struct {
	seen []string
	do   func(args string) sysexec.Result
}

func (p *programs) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	line := strings.Join(append([]string{c.Path}, c.Args...), " ")
	p.seen = append(p.seen, line)
	if c.NoKill != (c.Path == sudo) || c.Timeout == 0 {
		return sysexec.Result{}, errors.New("what is run is to be bounded, and sudo is never killed")
	}
	return p.do(line), nil
}

const own = "/usr/local/bin/sentinel"

// passwd has one ordinary user.
const passwd = "root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000:Ann:/home/ann:/bin/sh\n"

// well is a machine on which everything is as it should be.
func well(t *testing.T, more map[string]string) Target {
	t.Helper()
	files := map[string]string{
		"proc/sys/kernel/osrelease": "6.1.0-18-amd64\n",
		own[1:]:                     "x", "usr/local/bin/sentinel-mcp": "x", "usr/bin/sudo": "x", "etc/passwd": passwd, "etc/group": "sentinel:x:990:\n", "etc/sudoers.d/sentinel": "x",
		"etc/sentinel/config.yaml": "", "var/lib/sentinel/": "", "var/log/sentinel/": "", "run/systemd/system/": "",
		"etc/systemd/system/sentinel-restore.service": "[Service]\nExecStart=" + own + " --restore-blocklist\n", "etc/systemd/system/sentinel-restore.timer": "",
		"etc/systemd/system/multi-user.target.wants/sentinel-restore.service": "",
		"etc/systemd/system/sentinel-record.timer":                            "",
		"home/ann/.claude.json":                                               `{"mcpServers":{"sentinel":{"command":"/usr/local/bin/sentinel-mcp","args":[]}}}`,
	}
	maps.Copy(files, more)
	root := testenv.Plant(t, files)
	mode(t, filepath.Join(root, "usr/bin/sudo"), 0o755|fs.ModeSetuid)
	mode(t, filepath.Join(root, "etc/sudoers.d/sentinel"), 0o440)
	fine := func(context.Context) (string, error) { return "fine", nil }
	return Target{
		Root: root, OS: "linux", Version: "1.2.3", User: User{UID: 1000},
		Binary: func() (string, error) { return own, nil }, Trusted: func(string) error { return nil }, TrustedLog: func(string) error { return nil },
		Owned: func(string) error { return errors.New("not the user's") }, Reports: func(context.Context) (Reporting, error) { return Reporting{}, nil }, Recorder: sampled,
		Tools: []Tool{{"get_system_health", false, "SENTINEL_READ"}, {"terminate_process", true, "SENTINEL_WRITE"}}, ConfigPath: "/etc/sentinel/config.yaml", AskRequired: true, ConfigFiles: []string{"/etc/sentinel/config.yaml"},
		StateDir: "/var/lib/sentinel", JournalDir: "/var/log/sentinel",
		Programs: &programs{do: func(string) sysexec.Result { return sysexec.Result{} }},
		Journal:  fine, Blocklist: fine, PacketFilter: fine, Firewall: fine, ServiceManager: fine,
		OSVersion: func(context.Context) (string, error) { return "Debian GNU/Linux 12 (bookworm)", nil },
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mode(t *testing.T, path string, m fs.FileMode) {
	t.Helper()
	if err := os.Chmod(path, m); err != nil {
		t.Fatal(err)
	}
}

func find(t *testing.T, r Report, id string) Finding {
	t.Helper()
	for _, f := range r.Checks {
		if f.ID == id {
			return f
		}
	}
	t.Fatalf("no finding %s in %+v", id, r.Checks)
	return Finding{}
}

func TestAHealthyMachineHasNothingToFix(t *testing.T) {
	r := Examine(t.Context(), well(t, nil))
	seen := map[string]bool{}
	for _, f := range r.Checks {
		if f.Status != OK || f.Value == "" || f.Name == "" || f.Fix != "" || seen[f.ID] {
			t.Errorf("%+v", f)
		}
		seen[f.ID] = true
	}
	if r.Problems+r.Warnings > 0 || len(r.Checks) != applicable("linux") {
		t.Errorf("%d findings, %d problems, %d warnings", len(r.Checks), r.Problems, r.Warnings)
	}
	if f := find(t, r, "system"); f.Value != "sentinel 1.2.3 on Debian GNU/Linux 12 (bookworm), Linux 6.1.0-18-amd64" {
		t.Errorf("system: %q", f.Value)
	}
}

// applicable counts the checks of a system.
func applicable(system string) int {
	n := 0
	for _, c := range checks() {
		if c.goos == "" || c.goos == system {
			n++
		}
	}
	return n
}

// suspect says of every path that ends with one of these that it is not safe.
func suspect(ends ...string) func(string) error {
	return func(path string) error {
		for _, end := range ends {
			if strings.HasSuffix(path, end) {
				return errors.New(end + " can be written by others")
			}
		}
		return nil
	}
}

func TestWhatIsWrongIsFoundAndHasAFix(t *testing.T) {
	remove := func(path string) func(*testing.T, *Target) {
		return func(t *testing.T, p *Target) {
			t.Helper()
			if err := os.RemoveAll(p.at(path)); err != nil {
				t.Fatal(err)
			}
		}
	}
	distrust := func(path string) func(*testing.T, *Target) {
		return func(_ *testing.T, p *Target) { p.Trusted = suspect(path) }
	}
	plant := func(path, content string) func(*testing.T, *Target) {
		return func(t *testing.T, p *Target) {
			t.Helper()
			os.RemoveAll(p.at(path))
			if err := os.WriteFile(p.at(path), []byte(content), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	claude := func(content string) func(*testing.T, *Target) { return plant("/home/ann/.claude.json", content) }
	for _, test := range []struct {
		name   string
		change func(*testing.T, *Target)
		id     string
		status string
		says   string
		fix    string
	}{
		{"another system", func(_ *testing.T, p *Target) { p.OS = "plan9" }, "system", Problem, "plan9", "Linux"},
		{"old kernel", plant("/proc/sys/kernel/osrelease", "4.18.0-477.el8.x86_64\n"), "system", Warning, "4.18.0", "5.3"},
		{"kernel without a version", plant("/proc/sys/kernel/osrelease", "six"), "system", Unknown, "not known", "/proc"},
		{"no name of a distribution", func(_ *testing.T, p *Target) {
			p.OSVersion = func(context.Context) (string, error) { return "", fs.ErrNotExist }
		}, "system", OK, "unknown distribution", ""},
		{"binary that others can change", distrust("/bin/sentinel"), "binary", Problem, "root is not used", "sudo make install"},
		{"no server", remove("/usr/local/bin/sentinel-mcp"), "server", Warning, "no /usr/local/bin/sentinel-mcp", "sudo make install"},
		{"server that is no program", func(t *testing.T, p *Target) { mode(t, p.at("/usr/local/bin/sentinel-mcp"), 0o644) }, "server", Problem, "not a program", "sudo make install"},
		{"server that others can change", distrust("/sentinel-mcp"), "server", Problem, "root is not used", "sudo make install"},
		{"no sudo", remove("/usr/bin/sudo"), "sudo", Warning, "no /usr/bin/sudo", "Install"},
		{"no sudo to ask", remove("/usr/bin/sudo"), "sudo_rules", Unknown, "no sudo", ""},
		{"sudo that cannot become root", func(t *testing.T, p *Target) { mode(t, p.at("/usr/bin/sudo"), 0o755) }, "sudo", Problem, "set-user-ID", "again"},
		{"sudo that others can change", distrust("/usr/bin/sudo"), "sudo", Problem, "written by others", "again"},
		{"no rules", remove("/etc/sudoers.d/sentinel"), "sudoers_file", Warning, "no /etc/sudoers.d/sentinel", "sudo make install"},
		{"rules that others can change", distrust("/sudoers.d/sentinel"), "sudoers_file", Problem, "written by others", "sudo make install"},
		{"rules with another mode", func(t *testing.T, p *Target) { mode(t, p.at("/etc/sudoers.d/sentinel"), 0o644) }, "sudoers_file", Warning, "0644", "chmod 0440"},
		{"a person has to agree", func(*testing.T, *Target) {}, "asking", OK, "cannot ask their user", ""},
		{"wrong configuration", func(_ *testing.T, p *Target) { p.ConfigError = errors.New("line 3: no such key") }, "configuration", Problem, "line 3", "Correct"},
		{"no configuration", func(_ *testing.T, p *Target) { p.ConfigFiles = nil }, "configuration", OK, "defaults", ""},
		{"configuration in two files", func(_ *testing.T, p *Target) {
			p.ConfigFiles = append(p.ConfigFiles, "/etc/sentinel/config.d/50-own.yaml")
		}, "configuration", OK, "/etc/sentinel/config.yaml, /etc/sentinel/config.d/50-own.yaml are valid and belong to root", ""},
		{"second file that others can change", func(t *testing.T, p *Target) {
			p.ConfigFiles = append(p.ConfigFiles, "/etc/sentinel/config.d/50-own.yaml")
			p.Trusted = suspect("/config.d/50-own.yaml")
		}, "configuration", Problem, "written by others", "chmod 0644 /etc/sentinel/config.d/50-own.yaml"},
		{"configuration that others can change", distrust("/config.yaml"), "configuration", Problem, "written by others", "chown root"},
		{"no folder of the configuration", remove("/etc/sentinel"), "configuration_folder", OK, "none is needed", ""},
		{"folder of the configuration that others can change", distrust("/etc/sentinel"), "configuration_folder", Problem, "written by others", "chmod go-w /etc/sentinel"},
		{"no state yet", remove("/var/lib/sentinel"), "state_folder", OK, "the first change makes it", ""},
		{"nowhere to put the state", remove("/var/lib"), "state_folder", Warning, "neither", "mkdir"},
		{"folder above the state that others can change", func(t *testing.T, p *Target) { remove("/var/lib/sentinel")(t, p); p.Trusted = suspect("/var/lib") }, "state_folder", Problem, "cannot be made safely", "only root should"},
		{"folder above the state's that others can change", func(_ *testing.T, p *Target) {
			p.Trusted = func(string) error { return errors.New("/var can be written by others") }
		}, "state_folder", Problem, "/var can be written", "only root should"},
		{"state that others can change", distrust("/var/lib/sentinel"), "state_folder", Problem, "written by others", "chown root"},
		{"file in place of the journal's folder", plant("/var/log/sentinel", "x"), "journal_folder", Problem, "not a folder", "aside"},
		{"broken journal", func(_ *testing.T, p *Target) {
			p.Journal = func(context.Context) (string, error) { return "", errors.New("2 problems") }
		}, "journal", Problem, "2 problems", "--verify-journal"},
		{"journal of root", func(_ *testing.T, p *Target) {
			p.Journal = func(context.Context) (string, error) { return "", &fs.PathError{Err: fs.ErrPermission} }
		}, "journal", Unknown, "Only root", "sudo sentinel --doctor"},
		{"damaged blocklist", func(_ *testing.T, p *Target) {
			p.Blocklist = func(context.Context) (string, error) {
				return "", fault.New(fault.StateCorrupt, "damaged").WithFix("look")
			}
		}, "blocklist", Problem, "damaged", "look"},
		{"no packet filter", func(_ *testing.T, p *Target) {
			p.PacketFilter = func(context.Context) (string, error) { return "", fault.New(fault.FirewallUnavailable, "none") }
		}, "packet_filter", Warning, "none", "nftables"},
		{"no firewall", func(_ *testing.T, p *Target) {
			p.Firewall = func(context.Context) (string, error) { return "", errors.New("off") }
		}, "firewall", Warning, "off", "--fix-firewall"},
		{"nobody to ask", func(_ *testing.T, p *Target) { p.ServiceManager = nil }, "service_manager", Unknown, "Not looked at", ""},
		{"no unit", remove("/etc/systemd/system/sentinel-restore.service"), "restore", Warning, "not installed", "sudo make install"},
		{"unit that is not enabled", remove("/etc/systemd/system/multi-user.target.wants"), "restore", Warning, "sentinel-restore.service is not enabled", "enable --now"},
		{"unit that starts what is not there", plant("/etc/systemd/system/sentinel-restore.service", "[Service]\nExecStart=/opt/sentinel --restore-blocklist\n"), "restore", Problem, "starts /opt/sentinel", "sudo make install"},
		{"unit that starts what is no program", func(t *testing.T, p *Target) { mode(t, p.at(own), 0o644) }, "restore", Problem, "no program", "sudo make install"},
		{"unit that is changed beside its file", func(t *testing.T, p *Target) {
			must(t, os.MkdirAll(p.at("/etc/systemd/system/sentinel-restore.service.d"), 0o755))
			must(t, os.WriteFile(p.at("/etc/systemd/system/sentinel-restore.service.d/a.conf"), []byte("[Service]\nExecStart=\nExecStart=-/opt/sentinel\n"), 0o644))
		}, "restore", Problem, "starts /opt/sentinel,", "sudo make install"},
		{"masked unit", plant("/etc/systemd/system/sentinel-restore.service", ""), "restore", Problem, "masked", "systemctl cat"},
		{"unit that has failed", func(_ *testing.T, p *Target) {
			p.UnitState = func(_ context.Context, unit string) (string, error) {
				return map[string]string{"sentinel-restore.service": "failed"}[unit], nil
			}
		}, "restore", Problem, "has failed", "sudo journalctl --unit sentinel-restore.service"},
		{"timer that does not run although it should", func(_ *testing.T, p *Target) {
			p.Restorable = func() bool { return true }
			p.UnitState = func(context.Context, string) (string, error) { return "inactive", nil }
		}, "restore", Warning, "although there is something", "sudo sentinel --restore-blocklist"},
		{"timer that does not run and need not", func(_ *testing.T, p *Target) {
			p.Restorable = func() bool { return false }
			p.UnitState = func(context.Context, string) (string, error) { return "inactive", nil }
		}, "restore", OK, "is installed", ""},
		{"no systemd", remove("/run/systemd"), "restore", Unknown, "does not run", "--restore-blocklist"},
		{"no client", remove("/home/ann"), "clients", Unknown, "/home/ann", "sentinel-mcp"},
		{"user of a directory service", func(_ *testing.T, p *Target) { p.User.UID = 7 }, "clients", Unknown, "no user 7", ""},
		{"client without sentinel", claude(`{"mcpServers":{"x":{"command":"npx"}},"history":["sentinel-mcp"]}`), "client.claude_code", OK, "does not use", ""},
		{"client with a bare name", claude(`{"mcpServers":{"s":{"command":"sentinel-mcp"}}}`), "client.claude_code", Problem, "without a path", "whole path"},
		{"client with a program that is gone", claude(`{"projects":{"/p":{"mcpServers":{"s":{"command":"/opt/sentinel-mcp"}}}}}`), "client.claude_code", Problem, "no such program", "whole path"},
		{"client with a folder for a program", claude(`{"mcpServers":{"s":{"command":"/home/ann/sentinel-mcp/"}}}`), "client.claude_code", Problem, "no such program", "whole path"},
		{"client with comments that it cannot read", claude("// mine\n{}"), "client.claude_code", Unknown, "not JSON that Claude Code can read", ""},
		{"client with comments", func(t *testing.T, p *Target) {
			must(t, os.MkdirAll(p.at("/home/ann/.cursor"), 0o755))
			must(t, os.WriteFile(p.at("/home/ann/.cursor/mcp.json"), []byte("// mine\n{\"mcpServers\": {\"s\": {\"command\": \"/opt/sentinel-mcp\"},},}"), 0o644))
		}, "client.cursor", Problem, "no such program", "whole path"},
		{"link in place of a configuration", func(t *testing.T, p *Target) {
			os.Remove(p.at("/home/ann/.claude.json"))
			if err := os.Symlink("/etc/shadow", p.at("/home/ann/.claude.json")); err != nil {
				t.Fatal(err)
			}
		}, "client.claude_code", Unknown, "cannot be read", ""},
		{"folder in place of a configuration", func(t *testing.T, p *Target) {
			os.Remove(p.at("/home/ann/.claude.json"))
			if err := os.Mkdir(p.at("/home/ann/.claude.json"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, "client.claude_code", Unknown, "not a regular file", ""},
		{"client with a program that others can change", distrust("/sentinel-mcp"), "client.claude_code", Warning, "someone else could change", "sudo make install"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := well(t, nil)
			test.change(t, &p)
			r := Examine(t.Context(), p)
			f := find(t, r, test.id)
			if f.Status != test.status || !strings.Contains(f.Value, test.says) || !strings.Contains(f.Fix, test.fix) {
				t.Errorf("%+v, want %s, %q, fix %q", f, test.status, test.says, test.fix)
			}
			if want := map[string]bool{Problem: r.Problems > 0, Warning: r.Warnings > 0}; (f.Status == Problem || f.Status == Warning) && !want[f.Status] {
				t.Errorf("%d problems and %d warnings are counted", r.Problems, r.Warnings)
			}
		})
	}
}

// Every client is found at its own place, and where the environment moves it.
func TestEveryClientIsLookedFor(t *testing.T) {
	for _, moved := range []map[string]string{nil, {"XDG_CONFIG_HOME": "/mnt/conf", "CLAUDE_CONFIG_DIR": "/mnt/claude", "COPILOT_HOME": "/mnt/copilot"}} {
		env := func(name string) string { return moved[name] }
		ann, more := clients.User{OS: "linux", Home: "/home/ann", Env: env}, map[string]string{}
		for _, c := range clients.All() {
			more[c.File(ann)] = `{"servers":{"s":{"type":"stdio","command":"/usr/local/bin/sentinel-mcp"}}}`
		}
		p := well(t, more)
		p.User.Env = env
		r := Examine(t.Context(), p)
		for _, c := range clients.All() {
			if f := find(t, r, "client."+strings.ReplaceAll(c.ID, "-", "_")); f.Status != OK || f.Name != c.Name || f.Value != "It starts /usr/local/bin/sentinel-mcp." {
				t.Errorf("%v: %+v", moved, f)
			}
		}
	}
}

// Behind sudo the user's environment is not seen, which nobody should have to
// guess.
func TestWhereClientsWereNotLookedForIsSaid(t *testing.T) {
	for _, test := range []struct {
		env  func(string) string
		want string
	}{
		{nil, "No configuration of a client that is known here is in /home/ann; where else the user's environment may have them is not known here."},
		{func(string) string { return "" }, "No configuration of a client that is known here is in /home/ann."},
	} {
		p := well(t, nil)
		if err := os.Remove(p.at("/home/ann/.claude.json")); err != nil {
			t.Fatal(err)
		}
		p.User.Env = test.env
		if f := find(t, Examine(t.Context(), p), "clients"); f.Status != Unknown || f.Value != test.want {
			t.Errorf("%+v, want %q", f, test.want)
		}
	}
}

// Texts of others are shown to people and models.
func TestHostileTextsAreTame(t *testing.T) {
	p := well(t, map[string]string{"home/ann/.claude.json": `{"command":"/x\u001b[2J\u202e` + strings.Repeat("y", 1000) + `/sentinel-mcp"}`})
	p.OSVersion = func(context.Context) (string, error) { return "\x1b]0;x\a", nil }
	r := Examine(t.Context(), p)
	for _, f := range r.Checks {
		if strings.ContainsAny(f.Value+f.Fix, "\x1b\a\u202e") || len(f.Value) > 1000 {
			t.Errorf("%q", f)
		}
	}
}

func TestACheckThatHangsIsOneFindingAndHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := well(t, nil)
		stuck := make(chan struct{})
		p.Firewall = func(context.Context) (string, error) { <-stuck; return "", nil }
		began := time.Now()
		r := Examine(t.Context(), p)
		if f := find(t, r, "firewall"); f.Status != Unknown || !strings.Contains(f.Value, "within 5s") || f.Name != "firewall" {
			t.Errorf("%+v", f)
		}
		if took := time.Since(began); took != limit {
			t.Errorf("took %v, want the limit of the one check, %v", took, limit)
		}
		if f := find(t, r, "journal"); f.Status != OK {
			t.Errorf("%+v", f)
		}
		close(stuck)
	})
}

// The longest checks leave room within the twenty seconds of the operation.
func TestTheChecksTogetherAreBounded(t *testing.T) {
	for _, c := range checks() {
		if c.limit > 15*time.Second {
			t.Errorf("%s may take %v", c.id, c.limit)
		}
	}
}

func TestAPipeInPlaceOfAClientsConfigurationIsNotWaitedFor(t *testing.T) {
	p := well(t, nil)
	path := p.at("/home/ann/.claude.json")
	os.Remove(path)
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if f := find(t, Examine(t.Context(), p), "client.claude_code"); f.Status != Unknown || !strings.Contains(f.Value, "not a regular file") {
		t.Errorf("%+v", f)
	}
}
