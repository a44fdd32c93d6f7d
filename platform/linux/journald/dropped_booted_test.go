// SPDX-License-Identifier: Apache-2.0

package journald

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// A real journald says how much it dropped, and of what it is asked.
func TestARealJournalSaysWhatItDropped(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	if err := os.MkdirAll("/run/systemd/journald.conf.d", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("/run/systemd/journald.conf.d/limit.conf", []byte("[Journal]\nRateLimitIntervalSec=1s\nRateLimitBurst=2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	begin := time.Now().Add(-time.Minute)
	testenv.Systemctl(t, true, "restart systemd-journald.service")
	j := Journal{Root: "/", Runner: sysexec.Host{}}
	testenv.WaitFor(t, "messages to be dropped", func() bool {
		for range 30 {
			exec.Command("logger", "again").Run()
		}
		list, err := j.Dropped(t.Context(), begin, time.Time{}, "inside.service")
		return err == nil && len(list) == 1 && list[0].Messages > 0
	})
	if list, err := j.Dropped(t.Context(), begin, time.Time{}, "other.service"); err != nil || len(list) > 0 {
		t.Errorf("%v, %v", list, err)
	}
}
