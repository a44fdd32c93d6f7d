// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"sentinel/internal/audit"
	"sentinel/internal/audit/audittest"
	"sentinel/internal/sysexec"
)

// A spoiled runner changes what programs answer, and keeps their names.
type spoiled struct {
	real  sysexec.Runner
	spoil func(ctx context.Context, c sysexec.Command, r sysexec.Result) (sysexec.Result, error)

	mu  sync.Mutex
	ran map[string]int
}

func (s *spoiled) Run(ctx context.Context, c sysexec.Command) (sysexec.Result, error) {
	s.mu.Lock()
	if s.ran == nil {
		s.ran = map[string]int{}
	}
	s.ran[strings.Join(append([]string{c.Path}, c.Args...), " ")]++
	s.mu.Unlock()
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	r, err := s.real.Run(ctx, c)
	if err != nil {
		return r, err
	}
	return s.spoil(ctx, c, r)
}

func honest(_ context.Context, _ sysexec.Command, r sysexec.Result) (sysexec.Result, error) {
	return r, nil
}

// byFiles says of a check that it looks at files alone, or at what is given to
// it, so that no program can keep it from a verdict.
func byFiles(id string) bool {
	switch id {
	case "system.xprotect", "updates.security", "updates.download", "updates.install", "updates.critical", "updates.data", "updates.apps", "updates.last_check",
		"sharing.internet", "sharing.bluetooth", "services.exposed", "services.internal", "accounts.screen_lock", "accounts.auto_login", "accounts.hints", "accounts.homes",
		"sudo.nopasswd", "sudo.timestamp", "startup.writable", "startup.missing", "mcp.config", "mcp.command":
		return true
	}
	return false
}

// Whatever comes of a program, the checks that need it say why they have no
// verdict, and those that do not need it have theirs.
func TestProgramsThatFailCostTheirOwnChecksAlone(t *testing.T) {
	for name, spoil := range map[string]func(context.Context, sysexec.Command, sysexec.Result) (sysexec.Result, error){
		"missing": func(_ context.Context, c sysexec.Command, _ sysexec.Result) (sysexec.Result, error) {
			return sysexec.Result{}, &fs.PathError{Op: "fork/exec", Path: c.Path, Err: fs.ErrNotExist}
		},
		"hanging": func(ctx context.Context, _ sysexec.Command, _ sysexec.Result) (sysexec.Result, error) {
			<-ctx.Done()
			return sysexec.Result{}, ctx.Err()
		},
		"flooding": func(_ context.Context, _ sysexec.Command, r sysexec.Result) (sysexec.Result, error) {
			return r, sysexec.ErrOutputTooLarge
		},
		"silent": func(context.Context, sysexec.Command, sysexec.Result) (sysexec.Result, error) {
			return sysexec.Result{Exit: 1}, nil
		},
		"killed": func(context.Context, sysexec.Command, sysexec.Result) (sysexec.Result, error) {
			return sysexec.Result{Exit: 137}, nil
		},
		"localised": func(context.Context, sysexec.Command, sysexec.Result) (sysexec.Result, error) {
			said := []byte("Der Schutz ist aktiviert.\nStatus: ein\n")
			return sysexec.Result{Stdout: said, Stderr: said, Exit: 2}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := parts(t, "m4-26")
			p.Runner = &spoiled{real: p.Runner, spoil: spoil}
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				r, err := audit.Run(t.Context(), New(p), audit.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begun); took > audit.TotalLimit {
					t.Errorf("took %v", took)
				}
				for _, c := range r.Checks {
					if !byFiles(c.ID) {
						t.Errorf("%s comes to %s: %s", c.ID, c.Status, c.Value)
					}
				}
				for _, s := range r.Skipped {
					if byFiles(s.ID) || s.Reason == "" {
						t.Errorf("%s is skipped: %q", s.ID, s.Reason)
					}
				}
			})
		})
	}
}

// An output that breaks off in the middle never makes a check of severity high
// pass that did not, nor fail that did not.
func TestTruncatedOutputsTurnNoVerdictAround(t *testing.T) {
	for _, machine := range []string{"m4-26", "intel-12"} {
		before := map[string]audit.Status{}
		for _, c := range New(parts(t, machine)).Checks() {
			before[c.ID] = c.Run(t.Context()).Status
		}
		for _, keep := range []int{0, 1, 4, 9} { // tenths
			p := parts(t, machine)
			p.Runner = &spoiled{real: p.Runner, spoil: func(_ context.Context, _ sysexec.Command, r sysexec.Result) (sysexec.Result, error) {
				return sysexec.Result{Stdout: r.Stdout[:len(r.Stdout)*keep/10], Stderr: r.Stderr[:len(r.Stderr)*keep/10], Exit: r.Exit}, nil
			}}
			for _, c := range New(p).Checks() {
				f := c.Run(t.Context())
				if f.Status == audit.Pass && before[c.ID] == audit.Fail || f.Status == audit.Fail && before[c.ID] == audit.Pass {
					t.Errorf("%s with %d tenths of the outputs: %s is %s: %s", machine, keep, c.ID, f.Status, f.Value)
				}
			}
		}
	}
}

// Lines of a log before the answer, which macOS prints on stdout as well now and
// then, change nothing.
func TestNoiseBeforeTheAnswerChangesNothing(t *testing.T) {
	noise := "2026-11-02 09:15:00.001 tool[77:1234] hw.cpufamily: 0x1\nobjc[77]: Class X is implemented in both A and B.\n"
	for _, machine := range machines {
		p := parts(t, machine)
		p.Runner = &spoiled{real: p.Runner, spoil: func(_ context.Context, c sysexec.Command, r sysexec.Result) (sysexec.Result, error) {
			if strings.HasSuffix(c.Path, "/sqlite3") || strings.HasSuffix(c.Path, "/sshd") || strings.HasSuffix(c.Path, "/dscl") || strings.HasSuffix(c.Path, "/nvram") {
				return r, nil // these print nothing but their answer
			}
			if len(r.Stdout) > 0 {
				r.Stdout = append([]byte(noise), r.Stdout...)
			}
			r.Stderr = append([]byte(noise), r.Stderr...)
			return r, nil
		}}
		quiet := New(parts(t, machine)).Checks()
		for i, c := range New(p).Checks() {
			want, got := quiet[i].Run(t.Context()), c.Run(t.Context())
			if want.Status != got.Status {
				t.Errorf("%s, %s: %s %s %s, want %s", machine, c.ID, got.Status, got.Value, got.Reason, want.Status)
			}
		}
	}
}

// Each fact is asked for once, and nothing that a program is given begins with a
// dash but its own options.
func TestEachProgramRunsOnce(t *testing.T) {
	for _, machine := range machines {
		p := parts(t, machine)
		runner := &spoiled{real: p.Runner, spoil: honest}
		p.Runner = runner
		if _, err := audit.Run(t.Context(), New(p), audit.Options{}); err != nil {
			t.Fatal(err)
		}
		for argv, n := range runner.ran {
			if n > 1 && !strings.Contains(argv, "launchctl print system/com.openssh.sshd") && !strings.Contains(argv, "com.apple.smbd") {
				t.Errorf("%s: %d runs of %s", machine, n, argv)
			}
		}
		if len(runner.ran) < 15 {
			t.Errorf("%s: %d programs", machine, len(runner.ran))
		}
	}
}

// Without a system to ask only files are looked at.
func TestTreeOfFilesRunsNothing(t *testing.T) {
	p := parts(t, "m4-26")
	p.Runner, p.Sockets, p.SecurityUpdates = nil, nil, nil
	for _, c := range New(p).Checks() {
		if f := c.Run(t.Context()); f.Status != "" && !byFiles(c.ID) {
			t.Errorf("%s: %+v", c.ID, f)
		}
	}
}

// Whatever is in the place of the files that the checks read, each comes to an
// end and none passes for what it could not read.
func TestHostileFilesNeitherHangNorPass(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"pipes":   func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"folders": func(path string) error { return os.Mkdir(path, 0o755) },
		"huge":    audittest.Huge,
		"loops":   func(path string) error { return os.Symlink(filepath.Base(path), path) },
		"noise":   func(path string) error { return os.WriteFile(path, []byte("bplist00\x00\xff{"), 0o644) },
	} {
		p := parts(t, "m4-26")
		var files []string
		err := filepath.WalkDir(p.Root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := spoil(path); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range New(p).Checks() {
			f := c.Run(t.Context())
			if f.Status == audit.Pass && byFiles(c.ID) && !byRights(c.ID) {
				t.Errorf("%s: %s passes: %+v", name, c.ID, f)
			}
		}
	}
}

// byRights says of a check that it judges by who owns what is there, or by what
// is given to it, not by what is in a file.
func byRights(id string) bool {
	return id == "accounts.homes" || id == "updates.security" || strings.HasPrefix(id, "services.") || id == "sharing.internet"
}

// Texts of the machine reach the answer without what could harm its reader.
func TestHostileTextsAreMadeSafe(t *testing.T) {
	p := parts(t, "intel-12")
	for name, raw := range map[string]string{
		"private/etc/sudoers.d/x":                             audittest.Nasty + " ALL=NOPASSWD: ALL\n",
		"private/etc/ssh/sshd_config":                         "PermitRootLogin yes\nMatch User " + audittest.Nasty + "\nPermitEmptyPasswords yes\n",
		"Library/LaunchDaemons/" + audittest.Nasty + ".plist": `<plist version="1.0"><dict><key>Program</key><string>/opt/$(reboot)</string></dict></plist>`,
	} {
		path := filepath.Join(p.Root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(raw), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p.Runner = &spoiled{real: p.Runner, spoil: func(_ context.Context, c sysexec.Command, r sysexec.Result) (sysexec.Result, error) {
		for _, said := range []*[]byte{&r.Stdout, &r.Stderr} {
			*said = []byte(strings.ReplaceAll(strings.ReplaceAll(string(*said), "Example Proxy CA", audittest.Nasty), "com.example", audittest.Nasty))
		}
		return r, nil
	}}
	report, err := audit.Run(t.Context(), New(p), audit.Options{Whole: true})
	if err != nil {
		t.Fatal(err)
	}
	audittest.Safe(t, report)
}

// A default answer is short whatever fails.
func TestAnswersStayShort(t *testing.T) { audittest.StaysShort(t, machines, checksOf(t)) }

// A link in a home does not lead root to what the user may not read.
func TestLinksOutOfAHomeAreNotFollowed(t *testing.T) {
	p := parts(t, "m4-26")
	secret := filepath.Join(p.Root, "private/secret.json")
	if err := os.WriteFile(secret, []byte(`{"mcpServers": {"s": {"command": "/secret"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(p.Root, "Users/mira/.cursor")
	if err := os.Mkdir(link, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, link+"/mcp.json"); err != nil {
		t.Fatal(err)
	}
	for _, c := range New(p).Checks() {
		if f := c.Run(t.Context()); c.ID == "mcp.config" && (f.Status != "" || !f.Applies) {
			t.Errorf("%+v", f)
		}
	}
	shared := filepath.Join(p.Root, "private/shared.plist")
	if err := os.WriteFile(shared, []byte(`<plist version="1.0"><dict><key>PrefKeyServicesEnabled</key><true/></dict></plist>`), 0o600); err != nil {
		t.Fatal(err)
	}
	host := filepath.Join(p.Root, "Users/mira/Library/Preferences/ByHost")
	if err := os.MkdirAll(host, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(shared, host+"/com.apple.Bluetooth.linked.plist"); err != nil {
		t.Fatal(err)
	}
	for _, c := range New(p).Checks() {
		if f := c.Run(t.Context()); c.ID == "sharing.bluetooth" && (f.Status != "" || !f.Applies) {
			t.Errorf("%+v", f)
		}
	}
}

// Nor does it tell what is in a directory that the user may not list.
func TestDirsOutOfAHomeAreNotListed(t *testing.T) {
	p := parts(t, "m4-26")
	hidden := filepath.Join(p.Root, "private/hidden")
	if err := os.Mkdir(hidden, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"com.example.secret.plist", "com.apple.Bluetooth.secret.plist"} {
		if err := os.WriteFile(filepath.Join(hidden, name), agent("/opt/secret"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, link := range []string{"Users/mira/Library/LaunchAgents", "Users/mira/Library/Preferences/ByHost"} {
		path := filepath.Join(p.Root, link)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(hidden, path); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range New(p).Checks() {
		f := c.Run(t.Context())
		raw, err := json.Marshal(f)
		if err != nil || strings.Contains(string(raw), "secret") {
			t.Errorf("%s: %s %v", c.ID, raw, err)
		}
		if (strings.HasPrefix(c.ID, "startup.") || c.ID == "sharing.bluetooth") && f.Status == audit.Pass {
			t.Errorf("%s passes", c.ID)
		}
	}
}

// agent is a property list that starts a program.
func agent(program string) []byte {
	return []byte(`<plist version="1.0"><dict><key>Program</key><string>` + program + `</string></dict></plist>`)
}

// A user chooses the names of programs. None of them may pass for what codesign
// says about another one, nor for a file of the system.
func TestNamesOfProgramsVouchForNobody(t *testing.T) {
	for what, program := range map[string]string{
		"lines of codesign": "/Users/mira/a\nExecutable=/Users/mira/evil\nAuthority=Developer ID Application: Good (TEAM)",
		"the data volume":   "/System/Volumes/Data/Users/mira/evil",
		"back out":          "/System/Volumes/Preboot/../Data/Users/mira/evil",
	} {
		p := parts(t, "m4-26")
		dir := filepath.Join(p.Root, "Users/mira/Library/LaunchAgents")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, one := range map[string]string{"a.plist": program, "b.plist": "/Users/mira/evil"} {
			if err := os.WriteFile(filepath.Join(dir, name), agent(one), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		asked := 0
		p.Runner = runner(func(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
			if c.Args[0] != "-d" {
				return sysexec.Result{}, fs.ErrNotExist
			}
			asked = len(c.Args) - 2
			var said strings.Builder
			for _, file := range c.Args[2:] {
				said.WriteString("Executable=" + file + "\nSignature=adhoc\n")
			}
			return sysexec.Result{Stderr: []byte(said.String())}, nil
		})
		for _, c := range New(p).Checks() {
			if c.ID != "startup.signed" {
				continue
			}
			f := c.Run(t.Context())
			if said := strings.Join(f.Evidence, "; "); asked == 0 || f.Status != audit.Warn || !strings.Contains(said, "a.plist") || !strings.Contains(said, "b.plist") {
				t.Errorf("%s: %d are asked about, %+v", what, asked, f)
			}
		}
	}
}

// Whoever can write a directory on the way to a program can put another one there,
// and what one user may write is no matter of another.
func TestDirsOnTheWayAreLookedAt(t *testing.T) {
	for what, c := range map[string]struct {
		spoiled string
		mode    fs.FileMode
	}{
		"the folder":  {"opt/tool/bin", 0o777},
		"one above":   {"opt/tool", 0o777},
		"the program": {"opt/tool/bin/run", 0o757},
		"none":        {"opt/tool", 0o755},
	} {
		p := parts(t, "m4-26")
		program := filepath.Join(p.Root, "opt/tool/bin/run")
		if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
			t.Fatal(err)
		}
		for path, raw := range map[string][]byte{program: nil, filepath.Join(p.Root, "Library/LaunchDaemons/a.plist"): agent("/opt/tool/bin/run")} {
			if err := os.WriteFile(path, raw, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(filepath.Join(p.Root, c.spoiled), c.mode); err != nil {
			t.Fatal(err)
		}
		for _, check := range New(p).Checks() {
			if check.ID != "startup.writable" {
				continue
			}
			f := check.Run(t.Context())
			if found := strings.Contains(strings.Join(f.Evidence, ""), "/"+c.spoiled+" is"); found != (what != "none") {
				t.Errorf("%s: %+v", what, f)
			}
		}
	}
}

type runner func(context.Context, sysexec.Command) (sysexec.Result, error)

func (r runner) Run(ctx context.Context, c sysexec.Command) (sysexec.Result, error) { return r(ctx, c) }
