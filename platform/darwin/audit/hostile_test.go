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
		"huge":    huge,
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
		begun := time.Now()
		for _, c := range New(p).Checks() {
			f := c.Run(t.Context())
			if f.Status == audit.Pass && byFiles(c.ID) && !byRights(c.ID) {
				t.Errorf("%s: %s passes: %+v", name, c.ID, f)
			}
		}
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
}

// byRights says of a check that it judges by who owns what is there, or by what
// is given to it, not by what is in a file.
func byRights(id string) bool {
	return id == "accounts.homes" || id == "updates.security" || strings.HasPrefix(id, "services.") || id == "sharing.internet"
}

// huge makes a file that is far too large and takes no room.
func huge(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Truncate(1 << 40)
}

const nasty = "x\x1b]0;owned\x07\u202e\u200b$(reboot)`id`\xff"

// Texts of the machine reach the answer without what could harm its reader.
func TestHostileTextsAreMadeSafe(t *testing.T) {
	p := parts(t, "intel-12")
	for name, raw := range map[string]string{
		"private/etc/sudoers.d/x":                   nasty + " ALL=NOPASSWD: ALL\n",
		"private/etc/ssh/sshd_config":               "PermitRootLogin yes\nMatch User " + nasty + "\nPermitEmptyPasswords yes\n",
		"Library/LaunchDaemons/" + nasty + ".plist": `<plist version="1.0"><dict><key>Program</key><string>/opt/$(reboot)</string></dict></plist>`,
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
			*said = []byte(strings.ReplaceAll(strings.ReplaceAll(string(*said), "Example Proxy CA", nasty), "com.example", nasty))
		}
		return r, nil
	}}
	report, err := audit.Run(t.Context(), New(p), audit.Options{Whole: true})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"\\u001b", "\\u0007", "\\u202e", "\\u200b", "\u202e", "\u200b", "\x1b"} {
		if strings.Contains(string(raw), bad) {
			t.Errorf("the answer holds %q", bad)
		}
	}
	if !strings.Contains(string(raw), "owned") {
		t.Error("the hostile texts did not come through: the test shows nothing")
	}
	for _, c := range report.Checks {
		if strings.Contains(c.Fix, "$(reboot)") {
			t.Errorf("%s: text of the machine in a fix: %s", c.ID, c.Fix)
		}
	}
}

// A default answer is short whatever fails.
func TestAnswersStayShort(t *testing.T) {
	for _, name := range machines {
		r, err := audit.Run(t.Context(), New(parts(t, name)), audit.Options{})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(r)
		if err != nil || len(raw) > 19_000 || len(r.Checks) != r.ChecksTotal {
			t.Errorf("%s: %d bytes, %d checks of %d, %v", name, len(raw), len(r.Checks), r.ChecksTotal, err)
		}
	}
}

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
}
