// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"sentinel/internal/blocklist"
	"sentinel/internal/fault"
)

// stream is a file that JOURNAL_STREAM may name, and the environment that does.
func stream(t *testing.T) (f *os.File, named func(string) string) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "stream"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	var stat syscall.Stat_t
	if err := syscall.Fstat(int(f.Fd()), &stat); err != nil {
		t.Fatal(err)
	}
	return f, func(name string) string {
		return map[string]string{"JOURNAL_STREAM": fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)}[name]
	}
}

func TestLogOfAServiceHasChangesAndFailuresAlone(t *testing.T) {
	idle, added := &restoreDocument{}, &restoreDocument{Blocklist: blocklist.RestoreResult{Added: 2}}
	failed := fault.New(fault.FirewallFailed, "It did not take it.").WithFix("Look.")
	for name, test := range map[string]struct {
		doc     document
		err     error
		journal bool
		want    string
	}{
		"nothing to do":    {idle, nil, true, ""},
		"changed":          {added, nil, true, "<5>2 added, 0 corrected, 0 removed, 0 expired, 0 suspended, 0 resumed, 0 adopted; firewall restored: false\n"},
		"delivered":        {&reportDocument{Details: "1 of 1 endpoint has the report."}, nil, true, ""},
		"failed":           {nil, failed, true, "<3>FIREWALL_FAILED: It did not take it. Look.\n"},
		"not in a service": {nil, failed, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f, environment := stream(t)
			if !test.journal {
				environment = func(string) string { return "1:2" }
			}
			serviceLog(f, environment, test.doc, test.err)
			got, err := os.ReadFile(f.Name())
			if err != nil || string(got) != test.want {
				t.Errorf("%q, %v; want %q", got, err, test.want)
			}
		})
	}
}
