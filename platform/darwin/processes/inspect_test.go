// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/answer"
	"sentinel/internal/processes"
	"sentinel/internal/sysexec"
)

// described is a Mac that lists one application, its parents and its files.
type described struct {
	gone       bool // before the last look
	hidden     bool // files of others
	unsigned   bool
	unverified bool // codesign names a signer alone
}

const applicationFile = "/Applications/My App.app/Contents/MacOS/My App"

func (m described) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	row := func(pid, ppid, uid int, user, started, comm string) string {
		return fmt.Sprintf("%5d %5d %5d S      0:07.50   4096 %-16s %s     %s\n", pid, ppid, uid, user, started, comm)
	}
	const began = "Tue Sep 23 21:14:09 2025"
	mine := row(4242, 1, 501, "ana", began, applicationFile)
	argv := c.Path + " " + strings.Join(c.Args, " ")
	switch {
	case c.Timeout == 0 && c.Path != "/bin/launchctl":
		return sysexec.Result{}, fmt.Errorf("%s is not bounded", argv)
	case strings.HasSuffix(argv, ",args -p 4242"):
		return sysexec.Result{Stdout: []byte("  PID STARTED                      ARGS\n 4242 " + began + "     " + applicationFile + " --token=hunter2\n")}, nil
	case strings.HasSuffix(argv, "-p 4242") && c.Path == "/bin/ps":
		if m.gone {
			return sysexec.Result{Stdout: []byte(header), Exit: 1}, nil
		}
		return sysexec.Result{Stdout: []byte(header + mine)}, nil
	case c.Path == "/bin/ps":
		return sysexec.Result{Stdout: []byte(header + row(1, 0, 0, "root", began, "/sbin/launchd") + mine + row(4300, 4242, 501, "ana", began, "/bin/zsh"))}, nil
	case argv == "/usr/sbin/lsof -nP +L -p 4242 -Fftskn":
		if m.hidden {
			return sysexec.Result{Exit: 1}, nil
		}
		return sysexec.Result{Stdout: []byte("p4242\nfcwd\ntDIR\ns640\nk20\nn/Users/ana\nftxt\ntREG\ns5000\nk1\nn" + applicationFile + "\nf3\ntREG\ns209715200\nk0\nn/private/tmp/old.log\nf4\ntIPv4\nn*:8080\n")}, nil
	case c.Path == "/usr/sbin/lsof":
		return sysexec.Result{Stdout: []byte("p4242\ncMy App\nf4\ntIPv4\nd0x1\nPTCP\nn127.0.0.1:8080\nTST=LISTEN\np1\ncx\nf4\ntIPv4\nd0x2\nPTCP\nn127.0.0.1:80\nTST=LISTEN\n")}, nil
	case c.Path == "/usr/bin/codesign":
		if m.unsigned {
			return sysexec.Result{Exit: 1, Stderr: []byte(applicationFile + ": code object is not signed at all\n")}, nil
		}
		if c.Args[0] == "--verify" && m.unverified {
			return sysexec.Result{}, context.DeadlineExceeded
		}
		if c.Args[0] == "--verify" {
			return sysexec.Result{Stderr: []byte(applicationFile + ": valid on disk\n" + applicationFile + ": explicit requirement satisfied\n")}, nil
		}
		return sysexec.Result{Stderr: []byte("Executable=" + applicationFile + "\nAuthority=Developer ID Application: A (TEAM)\n")}, nil
	case c.Path == "/bin/launchctl":
		return sysexec.Result{Stdout: []byte("PID\tStatus\tLabel\n4242\t0\tapplication.com.example.my-app\n")}, nil
	}
	return sysexec.Result{}, fmt.Errorf("run %s: %w", c.Path, fs.ErrNotExist)
}

func inspectMac(t *testing.T, m described, pid int) (processes.Inspection, error) {
	t.Helper()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, filepath.Dir(applicationFile)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, applicationFile), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	before := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(root, applicationFile), before, before); err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return time.Date(2025, 9, 23, 22, 14, 9, 0, time.UTC) }
	return processes.Inspect(t.Context(), NewInspector(m, root, 501, now), pid, nil)
}

func TestAProcessOfAMacIsDescribed(t *testing.T) {
	i, err := inspectMac(t, described{}, 4242)
	if err != nil {
		t.Fatal(err)
	}
	if i.Name != "My App" || i.User != "ana" || *i.AgeSeconds != 3600 || i.CPUSeconds != 7.5 || i.Memory.ResidentMB != 4 || strings.Contains(i.Command, "hunter2") || i.Command == "" {
		t.Errorf("%+v", i)
	}
	if i.Program.Path != applicationFile || i.Program.State != "present" || i.Program.Signature != "signed by Developer ID Application: A (TEAM)" || i.Program.Directory != "/Users/ana" {
		t.Errorf("%+v", i.Program)
	}
	if diff := cmp.Diff([]processes.Kin{{PID: 1, Name: "launchd", User: "root", Status: "sleeping"}}, i.Ancestry); diff != "" || i.ChildrenAll != 1 || i.Children[0].PID != 4300 {
		t.Errorf("%s %+v", diff, i.Children)
	}
	if i.StartedBy.Unit != "application.com.example.my-app" || len(i.Sockets.Sockets) != 1 || i.Sockets.Sockets[0].Local != "127.0.0.1:8080" {
		t.Errorf("%+v, %+v", i.StartedBy, i.Sockets)
	}
	if i.OpenFiles.Total != 2 || i.OpenFiles.Files[0].Kind != processes.Removed || *i.OpenFiles.Files[0].SizeMB != 200 || i.Notable[0].Code != "REMOVED_FILE_OPEN" {
		t.Errorf("%+v, %+v", i.OpenFiles, i.Notable)
	}
}

// Anybody can sign with a certificate of any name.
func TestASignerThatIsNotVerifiedIsNotNamed(t *testing.T) {
	i, err := inspectMac(t, described{unverified: true}, 4242)
	if err != nil || i.Program.Signature != "" {
		t.Errorf("%+v, %v", i.Program, err)
	}
	if !slices.ContainsFunc(i.Unavailable, func(g answer.Gap) bool {
		return g.Field == "program.signature" && strings.Contains(g.Reason, "does not verify")
	}) {
		t.Errorf("%+v", i.Unavailable)
	}
}

func TestWhatAMacDoesNotTellIsUnavailable(t *testing.T) {
	i, err := inspectMac(t, described{hidden: true, unsigned: true}, 4242)
	if err != nil {
		t.Fatal(err)
	}
	var fields []string
	for _, g := range i.Unavailable {
		fields = append(fields, g.Field)
	}
	for _, want := range []string{"open_files", "sockets", "limits", "control_group", "waits_for", "program.package"} {
		if !slices.Contains(fields, want) {
			t.Errorf("%s is not said to be missing: %q", want, fields)
		}
	}
	if i.Program == nil || i.Program.Path != applicationFile || i.Program.Signature != "not signed" || i.OpenFiles != nil {
		t.Errorf("%+v", i.Program)
	}
	for what, pid := range map[string]int{"nobody": 9} {
		if _, err := inspectMac(t, described{}, pid); err == nil || !strings.Contains(err.Error(), "no process") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := inspectMac(t, described{gone: true}, 4242); err == nil || !strings.Contains(err.Error(), "no process") {
		t.Errorf("one that ended: %v", err)
	}
}
