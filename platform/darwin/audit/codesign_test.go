// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sentinel/internal/audit"
	"sentinel/internal/sysexec"
)

// plantItem writes a property list below the root of a Mac.
func plantItem(t *testing.T, p Parts, name string, raw []byte) {
	t.Helper()
	file := filepath.Join(p.Root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, raw, 0o644); err != nil {
		t.Fatal(err)
	}
}

// asked answers codesign -d with one signer for every program, and --verify as verify says.
func asked(verify func(programs []string) (string, error)) runner {
	return func(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
		if c.Args[0] == "-d" {
			said := ""
			for _, program := range c.Args[2:] {
				said += "Executable=" + program + "\nAuthority=Developer ID Application: Example Corp (EXAMPLE123)\n"
			}
			return sysexec.Result{Stderr: []byte(said)}, nil
		}
		said, err := verify(c.Args[4:])
		return sysexec.Result{Stderr: []byte(said)}, err
	}
}

// codesign -d prints the name of any certificate.
func TestANameOfASignerIsNoSignature(t *testing.T) {
	for what, c := range map[string]struct {
		verify       func([]string) (string, error)
		status, says string
	}{
		"verified": {func(list []string) (string, error) {
			return list[0] + ": valid on disk\n" + list[0] + ": explicit requirement satisfied\n", nil
		}, "PASS", "signed by Developer ID Application"},
		"of anybody": {func(list []string) (string, error) {
			return list[0] + ": valid on disk\ntest-requirement: code failed to satisfy specified code requirement(s)\n", nil
		}, "WARN", "a certificate that Apple does not vouch for"},
		"changed":      {func(list []string) (string, error) { return list[0] + ": invalid signature\n", nil }, "WARN", "not in order (invalid signature)"},
		"not verified": {func([]string) (string, error) { return "", fs.ErrNotExist }, "", "does not verify"},
		"silent":       {func([]string) (string, error) { return "", nil }, "", "does not verify"},
	} {
		p := parts(t, "m4-26")
		p.Runner = asked(c.verify)
		f := finding(t, p, "startup.signed")
		if said := f.Value + f.Reason + strings.Join(f.Evidence, "; "); string(f.Status) != c.status || !strings.Contains(said, c.says) {
			t.Errorf("%s: %+v", what, f)
		}
	}
}

// codesign waits for ever at a pipe, which a user can put in the place of a program at any time.
func TestAUsersProgramCostsNobodyElsesVerdict(t *testing.T) {
	p := parts(t, "m4-26")
	p.Owner++ // the homes are of another user
	plantItem(t, p, "Users/mira/Library/LaunchAgents/slow.plist", agent("/Users/mira/slow"))
	p.Runner = asked(func(list []string) (string, error) {
		if list[0] == "/Users/mira/slow" {
			return "", context.DeadlineExceeded
		}
		return list[0] + ": invalid signature\n", nil
	})
	f := finding(t, p, "startup.signed")
	if said := strings.Join(f.Evidence, "; "); f.Status != audit.Warn || f.Value != "At least 1 item without a valid signature" || !strings.Contains(said, "/Library/Example/agent is signed, but not in order") {
		t.Errorf("%+v", f)
	}
}

func TestCodesignIsAskedAboutNoPipe(t *testing.T) {
	p := parts(t, "m4-26")
	plantItem(t, p, "Users/mira/Library/LaunchAgents/pipe.plist", agent("/Users/mira/pipe"))
	if err := syscall.Mkfifo(filepath.Join(p.Root, "Users/mira/pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	p.Runner = asked(func(list []string) (string, error) {
		if strings.Contains(strings.Join(list, " "), "pipe") {
			t.Errorf("asks about %q", list)
		}
		return list[0] + ": explicit requirement satisfied\n", nil
	})
	f := finding(t, p, "startup.signed")
	if said := strings.Join(f.Evidence, "; "); f.Status != audit.Warn || !strings.Contains(said, "/Users/mira/pipe is no regular file") {
		t.Errorf("%+v", f)
	}
}
