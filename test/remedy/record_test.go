// SPDX-License-Identifier: Apache-2.0

//go:build linux

package remedy

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The unit is narrowed in what it may do, and a sample holds what root sees without that. What failed in
// between is told through a client.
func TestTheRecorderTellsWhatFailed(t *testing.T) {
	if !onMachine(t) {
		return
	}
	install(t)
	for _, name := range []string{"service", "timer"} {
		do(t, "install", "-m", "644", "/shipped/systemd-sentinel-record."+name, "/etc/systemd/system/sentinel-record."+name)
	}
	do(t, "systemctl", "daemon-reload")
	do(t, "systemd-analyze", "verify", "--man=no", "sentinel-record.service", "sentinel-record.timer")
	exposed(t, "sentinel-record.service")
	if filter := do(t, "systemctl", "show", "--property=SystemCallFilter,ProtectClock", "sentinel-record.service"); !strings.Contains(filter, " adjtimex ") || !strings.Contains(filter, "ProtectClock=no") {
		t.Errorf("a sample does not know whether its clock was synchronized:\n%s", filter)
	}
	if err := errors.Join(os.MkdirAll("/etc/sentinel", 0o755), os.WriteFile("/etc/sentinel/config.yaml", []byte("record: {resolver: false}\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	do(t, "systemctl", "start", "sentinel-record.service")
	if out, err := exec.Command("systemd-run", "--unit=nightly-job", "--wait", "/bin/false").CombinedOutput(); err == nil {
		t.Fatalf("it did not fail: %s", out)
	}
	do(t, "systemctl", "start", "sentinel-record.service")
	do(t, "systemctl", "enable", "--now", "sentinel-record.timer")
	d := healthHistory(t)
	if text := fmt.Sprint(d["changes"]); !strings.Contains(text, "nightly-job.service failed at ") {
		t.Errorf("%v", d)
	}
	if text := fmt.Sprint(d["unavailable"]); strings.Contains(text, "the next boot") {
		t.Errorf("the unit is in another boot than the reader: %s", text)
	}
	highest := map[string]float64{}
	figures, _ := d["figures"].([]any)
	for _, f := range figures {
		one, _ := f.(map[string]any)
		highest[fmt.Sprint(one["figure"])], _ = one["max"].(float64)
	}
	entries, err := filepath.Glob("/proc/[0-9]*")
	if seen := highest["processes"]; err != nil || seen < float64(len(entries)-3) || highest["memory"] == 0 || highest["disk"] == 0 || highest["failed_units"] != 1 {
		t.Errorf("the unit sees %v of %d processes: %v", seen, len(entries), d["figures"])
	}
	if state := do(t, "systemctl", "show", "--property=Result", "sentinel-record.service"); state != "Result=success\n" {
		t.Errorf("%s", state)
	}
	if info, err := os.Stat("/var/lib/sentinel/recorder"); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if out, err := exec.Command("runuser", "-u", "pat", "--", "sudo", "-n", "/usr/local/bin/sentinel", "--request", "get_health_history").CombinedOutput(); err != nil || !strings.Contains(string(out), "nightly-job.service") {
		t.Errorf("a member of the group: %v, %s", err, out)
	}
}

func healthHistory(t *testing.T) map[string]any {
	t.Helper()
	var d map[string]any
	if err := json.Unmarshal([]byte(do(t, "/usr/local/bin/sentinel", "--health-history", "--json")), &d); err != nil {
		t.Fatal(err)
	}
	return d
}
