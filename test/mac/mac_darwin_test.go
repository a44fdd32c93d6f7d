// SPDX-License-Identifier: Apache-2.0

package mac

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"sentinel/internal/ops"
)

const root = "../.."

var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "sentinel-mac")
	if err == nil {
		binary = filepath.Join(dir, "sentinel")
		build := exec.Command("go", "build", "-o", binary, "./cmd/sentinel")
		build.Dir = root
		build.Stderr = os.Stderr
		err = build.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	os.RemoveAll(dir)
	os.Exit(status)
}

type document map[string]any

// sentinel runs the program and returns its document and exit status.
func sentinel(t *testing.T, args ...string) (document, int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), binary, append(args, "--json")...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	var d document
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		t.Fatalf("sentinel %q: %v\n%s%s", args, err, out.Bytes(), errs.Bytes())
	}
	return d, cmd.ProcessState.ExitCode()
}

// must runs a change that has to succeed.
func must(t *testing.T, args ...string) document {
	t.Helper()
	d, status := sentinel(t, args...)
	if status != 0 || d["success"] != true {
		t.Fatalf("sentinel %q: exit status %d: %v", args, status, d)
	}
	return d
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	raw, err := exec.CommandContext(t.Context(), name, args...).Output()
	if err != nil {
		t.Fatalf("%s %q: %v", name, args, err)
	}
	return strings.TrimSpace(string(raw))
}

func asRoot() bool { return os.Geteuid() == 0 }

func writes(t *testing.T) {
	t.Helper()
	if !asRoot() || os.Getenv("SENTINEL_MAC_WRITES") != "yes" {
		t.Skip("this changes the Mac; it needs root and SENTINEL_MAC_WRITES=yes")
	}
}

func TestEveryReadingToolAnswersBySchema(t *testing.T) {
	lines := map[string][]string{
		"get_system_health": {}, "get_top_processes": {"--top"}, "get_network_stats": {"--network-stats"}, "get_asset_info": {"--asset-info"},
		"security_audit": {"--security-audit"}, "check_updates": {"--check-updates"}, "scan_ports": {"--scan-ports", "localhost"},
		"list_blocked_ips": {"--list-blocked"}, "dns_lookup": {"--dns", "localhost"}, "traceroute": {"--traceroute", "127.0.0.1"}, "get_startup_items": {"--startup-items"},
		"get_disk_usage": {"--disk-usage", "/usr/share"},
	}
	for tool, args := range lines {
		t.Run(tool, func(t *testing.T) {
			if _, ok := ops.ByName(tool); !ok {
				t.Fatal("there is no such tool")
			}
			d := must(t, args...)
			schema, err := jsonschema.NewCompiler().Compile(filepath.Join(root, "docs", "schemas", tool+".json"))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(map[string]any(d)); err != nil {
				t.Errorf("%v\n%v", err, d)
			}
			t.Logf("unavailable: %v", d["unavailable"])
		})
	}
}

func TestMemoryIsThatOfTheKernel(t *testing.T) {
	d := must(t)
	memory, _ := d["memory"].(map[string]any)
	var bytes float64
	if _, err := fmt.Sscan(output(t, "/usr/sbin/sysctl", "-n", "hw.memsize"), &bytes); err != nil {
		t.Fatal(err)
	}
	if got, ok := memory["total_bytes"].(float64); !ok || got != bytes {
		t.Errorf("total_bytes %v, hw.memsize %v", memory["total_bytes"], bytes)
	}
}

func TestBusyProcessIsOnTop(t *testing.T) {
	busy := exec.Command("/usr/bin/yes")
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { busy.Process.Kill(); busy.Wait() }()
	time.Sleep(time.Second) // until the kernel has counted some of its time
	d := must(t, "--top", "--top-count", "20")
	rows, _ := d["processes"].([]any)
	for _, row := range rows {
		if r := row.(map[string]any); r["pid"] == float64(busy.Process.Pid) {
			if cpu := r["cpu_percent"].(float64); cpu < 50 || cpu > 110 || r["name"] != "yes" {
				t.Errorf("the row of the busy process: %v", r)
			}
			return
		}
	}
	t.Errorf("the busy process %d is not among %v", busy.Process.Pid, rows)
}

func TestRefusals(t *testing.T) {
	if !asRoot() {
		if d, status := sentinel(t, "--kill", "1"); status != 3 || d["error_code"] != "PERMISSION_DENIED" {
			t.Errorf("%d, %v", status, d)
		}
		return
	}
	for code, args := range map[string][]string{
		"PROTECTED_PROCESS": {"--kill", "1"}, "PROTECTED_ADDRESS": {"--block-ip", "127.0.0.1"}, "PROCESS_NOT_FOUND": {"--kill", "99998"},
		"SERVICE_NOT_FOUND": {"--restart-service", "com.example.sentinel.none"}, "PROTECTED_SERVICE": {"--restart-service", "system/com.apple.WindowServer"},
	} {
		if d, status := sentinel(t, append(args, "--dry-run")...); status == 0 || d["error_code"] != code {
			t.Errorf("%q: exit status %d: %v", args, status, d)
		}
	}
}

func TestTerminate(t *testing.T) {
	writes(t)
	victim := exec.Command("/bin/sleep", "600")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- victim.Wait() }()
	d := must(t, "--kill", fmt.Sprint(victim.Process.Pid), "--expect-name", "sleep", "--reason", "test")
	if err := <-done; err == nil {
		t.Error("the process ended by itself")
	}
	if d["signal"] != "SIGKILL" {
		t.Errorf("signal %v", d["signal"])
	}
}

func TestBlockAndUnblock(t *testing.T) {
	writes(t)
	const address = "203.0.113.7"
	must(t, "--block-ip", address, "--reason", "test")
	defer sentinel(t, "--unblock-ip", address)
	listed := must(t, "--list-blocked")
	if !strings.Contains(fmt.Sprint(listed["ips"]), address) || !strings.Contains(fmt.Sprint(listed["entries"]), "in_kernel:true") {
		t.Errorf("the list after a block: %v", listed)
	}
	if info := output(t, "/sbin/pfctl", "-s", "info"); !strings.Contains(info, "Status: Enabled") {
		t.Errorf("pf after a block:\n%s", info)
	}
	if d, _ := sentinel(t, "--block-ip", address); d["error_code"] != "ALREADY_BLOCKED" {
		t.Errorf("a second block: %v", d)
	}
	must(t, "--unblock-ip", address)
	if d, _ := sentinel(t, "--unblock-ip", address); d["error_code"] != "NOT_BLOCKED" {
		t.Errorf("a second unblock: %v", d)
	}
}

func TestEnableFirewall(t *testing.T) {
	writes(t)
	const tool = "/usr/libexec/ApplicationFirewall/socketfilterfw"
	before := output(t, tool, "--getglobalstate")
	must(t, "--fix-firewall")
	if now := output(t, tool, "--getglobalstate"); !strings.Contains(now, "enabled") {
		t.Errorf("the firewall is %q", now)
	}
	if strings.Contains(before, "disabled") {
		output(t, tool, "--setglobalstate", "off")
	}
}

func TestRestartService(t *testing.T) {
	writes(t)
	const label = "com.example.sentinel.test"
	file := filepath.Join("/Library/LaunchDaemons", label+".plist")
	if err := os.WriteFile(file, []byte(`<?xml version="1.0" encoding="UTF-8"?>
<plist version="1.0"><dict><key>Label</key><string>`+label+`</string>
<key>ProgramArguments</key><array><string>/bin/sleep</string><string>600</string></array>
<key>RunAtLoad</key><true/></dict></plist>
`), 0o644); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(file)
	output(t, "/bin/launchctl", "bootstrap", "system", file)
	defer exec.Command("/bin/launchctl", "bootout", "system/"+label).Run()
	d := must(t, "--restart-service", label, "--reason", "test")
	state, _ := d["state"].(map[string]any)
	if pid, _ := state["main_pid"].(float64); pid <= 0 {
		t.Errorf("the state after the restart: %v", d)
	}
}
