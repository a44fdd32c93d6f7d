// SPDX-License-Identifier: Apache-2.0

//go:build linux

package remedy

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"sentinel/internal/testenv"
	"sentinel/test/assistant"
)

// What the product is for: an assistant finds a problem, fixes it, and the owner
// can see what it did.
func TestAnAssistantFixesAMachine(t *testing.T) {
	if !onMachine(t) {
		return
	}
	install(t)
	cable(t)
	s := connect(t, "--toolsets", "all")
	t.Run("blocks an address and lets it in again", func(t *testing.T) { s.T = t; blocks(t, s) })
	t.Run("finds a flushed block and puts it back", func(t *testing.T) { s.T = t; restores(t, s) })
	t.Run("ends a process", func(t *testing.T) { s.T = t; ends(t, s) })
	t.Run("restarts a service", func(t *testing.T) { s.T = t; restarts(t, s) })
	t.Run("switches the firewall on", func(t *testing.T) { s.T = t; switchesOn(t, s) })
	t.Run("lets a service in and switches the firewall off", func(t *testing.T) { s.T = t; loosens(t, s) })
	verified(t)
}

func blocks(t *testing.T, s *assistant.Session) {
	address := echo(t)
	var open net.Conn
	testenv.WaitFor(t, "the peer to talk to the machine", func() (reached bool) { // a first packet gets lost while the cable comes up
		c, err := fromPeer(t, address)
		open = c
		return err == nil && talks(c)
	})
	defer open.Close()
	d := s.Call("", "block_ip_address", map[string]any{"ip": peer, "reason": "tried passwords", "ttl": "24h"})
	if d.Text("ip") != peer || d.Text("expires_at") == "" || d["in_kernel"] != true || d["connections_cut"] != 1.0 {
		t.Errorf("the answer is %v", d)
	}
	if talks(open) {
		t.Error("an open connection goes on")
	}
	if reaches(t, address) {
		t.Error("the peer still connects")
	}
	list := s.Call("", "list_blocked_ips", map[string]any{})
	if row := first(list, "entries"); row.Text("ip") != peer || row["in_kernel"] != true || row.Text("blocked_by") != "pat through remedy-test/1" {
		t.Errorf("the list is %v", list)
	}
	s.Call("ALREADY_BLOCKED", "block_ip_address", map[string]any{"ip": "::ffff:" + peer})
	who(t, s, "block_ip_address", "tried passwords")
	s.Call("", "unblock_ip_address", map[string]any{"ip": peer, "reason": "was the owner"})
	if !reaches(t, address) {
		t.Error("the peer does not connect again")
	}
	who(t, s, "unblock_ip_address", "was the owner")
}

// who checks that the journal tells who did the last thing and why, to root
// and to the assistant alike.
func who(t *testing.T, s *assistant.Session, tool, reason string) {
	t.Helper()
	shown := first(s.Call("", "get_action_history", map[string]any{"last": 1}), "actions")
	for _, a := range []map[string]any{history(t), shown} {
		w, _ := a["who"].(map[string]any)
		if a["tool"] != tool || a["reason"] != reason || a["state"] != "done" || w["sudo_user"] != "pat" || w["caller"] != "remedy-test/1" {
			t.Errorf("the journal has %v", a)
		}
	}
}

func first(d assistant.Document, list string) assistant.Document {
	rows, _ := d[list].([]any)
	if len(rows) == 0 {
		return nil
	}
	row, _ := rows[0].(map[string]any)
	return row
}

func restores(t *testing.T, s *assistant.Session) {
	s.Call("", "block_ip_address", map[string]any{"ip": peer})
	do(t, "nft", "flush", "ruleset")
	if d := s.Call("", "list_blocked_ips", map[string]any{}); d["in_sync"] != false || first(d, "entries")["in_kernel"] != false {
		t.Errorf("the flush is not noticed: %v", d)
	}
	do(t, "systemctl", "start", "sentinel-restore.service")
	if d := s.Call("", "list_blocked_ips", map[string]any{}); d["in_sync"] != true || first(d, "entries")["in_kernel"] != true {
		t.Errorf("the block is not back: %v", d)
	}
	before := history(t)["seq"]
	do(t, "systemctl", "start", "sentinel-restore.service")
	if after := history(t)["seq"]; after != before {
		t.Error("a restore with nothing to do left a record")
	}
	s.Call("", "unblock_ip_address", map[string]any{"ip": peer})
}

func ends(t *testing.T, s *assistant.Session) {
	cmd := exec.Command("sleep", "infinity")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	top := s.Call("", "get_top_processes", map[string]any{"count": 100, "sort": "memory"})
	start := ""
	for _, row := range top["processes"].([]any) {
		if p := assistant.Document(row.(map[string]any)); p["pid"] == float64(cmd.Process.Pid) {
			start = p.Text("start_id")
		}
	}
	s.Call("PROCESS_CHANGED", "terminate_process", map[string]any{"pid": cmd.Process.Pid, "expect_start": "1.1"})
	d := s.Call("", "terminate_process", map[string]any{"pid": cmd.Process.Pid, "expect_start": start, "expect_name": "sleep"})
	if d.Text("signal") != "SIGKILL" || d.Text("process_name") != "sleep" {
		t.Errorf("the answer is %v", d)
	}
	if t.Failed() {
		return
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the process ended by %v", err)
	}
}

func restarts(t *testing.T, s *assistant.Session) {
	do(t, "systemctl", "start", "good.service")
	before := do(t, "systemctl", "show", "--property=MainPID", "good.service")
	d := s.Call("", "restart_service", map[string]any{"service": "good", "reason": "asked to"})
	state, _ := d["state"].(map[string]any)
	if d.Text("label") != "good.service" || state["active_state"] != "active" {
		t.Errorf("the answer is %v", d)
	}
	if after := do(t, "systemctl", "show", "--property=MainPID", "good.service"); after == before {
		t.Error("it is still the same process")
	}
	do(t, "systemctl", "start", "crashing.service")
	d = s.Call("RESTART_FAILED", "restart_service", map[string]any{"service": "crashing"})
	if raw, err := json.Marshal(d["log"]); err != nil || !strings.Contains(string(raw), "it hurts") {
		t.Errorf("the failure does not show the log: %v", d)
	}
}

func switchesOn(t *testing.T, s *assistant.Session) {
	do(t, "systemctl", "start", "ssh.service")
	before := s.Call("", "get_system_health", map[string]any{})
	if before.Text("firewall_status") != "DISABLED" {
		t.Fatalf("the firewall is %v", before["firewall_status"])
	}
	d := s.Call("", "enable_firewall", map[string]any{"dry_run": true})
	if preview, _ := d["preview"].(map[string]any); d["dry_run"] != true || preview["stays_open"] == nil || preview["closes"] == nil || s.Call("", "get_system_health", map[string]any{}).Text("firewall_status") != "DISABLED" {
		t.Errorf("the dry run: %v", d)
	}
	d = s.Call("", "enable_firewall", map[string]any{})
	if d.Text("firewall_status") != "ACTIVE" || d["changed"] != true || d.Text("manager") != "firewalld" {
		t.Errorf("the answer is %v", d)
	}
	if left, ok := d["confirm_within"].(float64); !ok || left <= 0 || d["persistent"] != false {
		t.Errorf("it is not on trial: %v", d)
	}
	if d = s.Call("", "enable_firewall", map[string]any{}); d["changed"] != false || d["confirm_within"] == nil {
		t.Errorf("the second time: %v", d)
	}
	tooLate(t, s)
	s.Call("", "enable_firewall", map[string]any{})
	if d = s.Call("", "enable_firewall", map[string]any{"confirm": true}); d["changed"] != true || d["confirm_within"] != nil || d["persistent"] != true {
		t.Errorf("confirmed: %v", d)
	}
	if after := s.Call("", "get_system_health", map[string]any{}); after.Text("firewall_status") != "ACTIVE" {
		t.Errorf("health says %v", after["firewall_status"])
	}
}

// loosens lets a service in and switches the firewall off, which the policy has to allow.
func loosens(t *testing.T, s *assistant.Session) {
	service := map[string]any{"services": "https", "reason": "the shop"}
	s.Call("DISABLED_BY_POLICY", "allow_service", service)
	s.Call("DISABLED_BY_POLICY", "disable_firewall", map[string]any{})
	configure(t, "policy: {enabled_tools: [allow_service, disable_firewall]}\n")
	s.Call("INVALID_SERVICE", "allow_service", map[string]any{"services": "--zone=drop"})
	if d := s.Call("", "allow_service", map[string]any{"services": "https", "dry_run": true}); d["dry_run"] != true {
		t.Errorf("the dry run: %v", d)
	}
	if d := s.Call("", "allow_service", service); d["changed"] != true || d["confirm_within"] == nil || d.Text("manager") != "firewalld" {
		t.Errorf("let in: %v", d)
	}
	who(t, s, "allow_service", "the shop")
	s.Call("FIREWALL_FAILED", "disable_firewall", map[string]any{})
	if d := s.Call("", "allow_service", map[string]any{"services": "443/tcp", "confirm": true}); d["changed"] != true || d["persistent"] != true {
		t.Errorf("confirmed: %v", d)
	}
	if d := s.Call("", "disable_firewall", map[string]any{"reason": "asked to"}); d.Text("firewall_status") != "DISABLED" || d["confirm_within"] == nil {
		t.Errorf("off: %v", d)
	}
	who(t, s, "disable_firewall", "asked to")
	if d := s.Call("", "disable_firewall", map[string]any{"confirm": true}); d["persistent"] != true {
		t.Errorf("off for good: %v", d)
	}
	if after := s.Call("", "get_system_health", map[string]any{}); after.Text("firewall_status") != "DISABLED" {
		t.Errorf("health says %v", after["firewall_status"])
	}
}

// tooLate lets the time of a trial be over, and then looks for the firewall and
// for what the journal says.
func tooLate(t *testing.T, s *assistant.Session) {
	t.Helper()
	do(t, "sed", "-i", "-E", `s/("ends_at_uptime_ms":)[0-9]+/\11/`, "/var/lib/sentinel/firewall-trial.json")
	s.Call("FIREWALL_FAILED", "enable_firewall", map[string]any{"confirm": true})
	do(t, "systemctl", "start", "sentinel-restore.service")
	a := history(t)
	w, _ := a["who"].(map[string]any)
	if a["tool"] != "restore_blocklist" || a["reason"] != "firewall on trial: not confirmed within 120 s" || a["state"] != "done" || w["user"] != "root" || w["sudo_user"] != nil {
		t.Errorf("the journal has %v", a)
	}
	if after := s.Call("", "get_system_health", map[string]any{}); after.Text("firewall_status") != "DISABLED" {
		t.Errorf("health says %v", after["firewall_status"])
	}
	s.Call("FIREWALL_FAILED", "enable_firewall", map[string]any{"confirm": true})
}

// Every code that a change can fail with reaches the assistant as sentinel gave
// it, with what to do.
func TestEveryRefusalReachesTheAssistant(t *testing.T) {
	if !onMachine(t) {
		return
	}
	install(t)
	do(t, "systemctl", "start", "good.service", "crashing.service")
	do(t, "systemctl", "mask", "--runtime", "masked.service")
	s := connect(t, "--toolsets", "all")
	for _, c := range []struct {
		code, tool string
		arguments  map[string]any
	}{
		{"INVALID_PID", "terminate_process", map[string]any{"pid": 0}},
		{"INVALID_PID", "terminate_process", map[string]any{"pid": -1}},
		{"INVALID_PID", "terminate_process", map[string]any{"pid": 4194305}},
		{"INVALID_PID", "terminate_process", map[string]any{"pid": "1"}},
		{"INVALID_PID", "terminate_process", map[string]any{}},
		{"INVALID_ARGUMENT", "terminate_process", map[string]any{"pid": 4194304, "force": true}},
		{"PROCESS_NOT_FOUND", "terminate_process", map[string]any{"pid": 4194304}},
		{"PROTECTED_PROCESS", "terminate_process", map[string]any{"pid": 1}},
		{"PROTECTED_PROCESS", "terminate_process", map[string]any{"pid": os.Getpid()}},
		{"INVALID_IP", "block_ip_address", map[string]any{"ip": "1.2.3.4;rm"}},
		{"INVALID_IP", "block_ip_address", map[string]any{"ip": "-j"}},
		{"INVALID_IP", "block_ip_address", map[string]any{"ip": "localhost"}},
		{"INVALID_IP", "block_ip_address", map[string]any{"ip": "fe80::1%eth0"}},
		{"INVALID_IP", "block_ip_address", map[string]any{"ip": "192.0.2.010"}},
		{"INVALID_IP", "block_ip_address", map[string]any{"ip": "0/0"}},
		{"INVALID_IP", "block_ip_address", map[string]any{"ip": ""}},
		{"INVALID_ARGUMENT", "block_ip_address", map[string]any{"ip": peer, "ttl": "soon"}},
		{"PROTECTED_ADDRESS", "block_ip_address", map[string]any{"ip": "127.0.0.1"}},
		{"PROTECTED_ADDRESS", "block_ip_address", map[string]any{"ip": "::ffff:127.0.0.1"}},
		{"PROTECTED_ADDRESS", "block_ip_address", map[string]any{"ip": "0.0.0.0"}},
		{"PROTECTED_ADDRESS", "block_ip_address", map[string]any{"ip": "224.0.0.251"}},
		{"NOT_BLOCKED", "unblock_ip_address", map[string]any{"ip": peer}},
		{"INVALID_SERVICE", "restart_service", map[string]any{"service": "../x"}},
		{"INVALID_SERVICE", "restart_service", map[string]any{"service": "a b"}},
		{"INVALID_SERVICE", "restart_service", map[string]any{"service": ""}},
		{"SERVICE_NOT_FOUND", "restart_service", map[string]any{"service": "goood"}},
		{"SERVICE_MASKED", "restart_service", map[string]any{"service": "masked"}},
		{"SERVICE_INACTIVE", "restart_service", map[string]any{"service": "off"}},
		{"PROTECTED_SERVICE", "restart_service", map[string]any{"service": "dbus"}},
		{"PROTECTED_SERVICE", "restart_service", map[string]any{"service": "systemd-journald"}},
		{"RESTART_FAILED", "restart_service", map[string]any{"service": "crashing"}},
	} {
		s.Call(c.code, c.tool, c.arguments)
	}
	t.Run("configuration", func(t *testing.T) { s.T = t; refusedByConfiguration(t, s) })
	t.Run("state", func(t *testing.T) { s.T = t; refusedByState(t, s) })
	t.Run("privilege", refusedWithoutRules)
	t.Run("packet filter", refusedWithoutFilter)
	t.Run("packet filter of another", func(t *testing.T) { s.T = t; refusedByFilter(t, s) })
	t.Run("time limit of the server", runsOut)
	verified(t)
}

func configure(t *testing.T, content string) {
	t.Helper()
	if err := os.MkdirAll("/etc/sentinel", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("/etc/sentinel/config.yaml", []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove("/etc/sentinel/config.yaml") })
}

func refusedByConfiguration(t *testing.T, s *assistant.Session) {
	configure(t, "no_such_setting: 1\n")
	s.Call("CONFIG_INVALID", "block_ip_address", map[string]any{"ip": peer})
	configure(t, "policy: {disabled_tools: [restart_service]}\n")
	s.Call("DISABLED_BY_POLICY", "restart_service", map[string]any{"service": "good"})
	configure(t, "policy: {read_only: true}\n")
	s.Call("DISABLED_BY_POLICY", "unblock_ip_address", map[string]any{"ip": peer})
	s.Call("", "list_blocked_ips", map[string]any{})
	configure(t, "policy: {destructive_per_minute: 0}\n")
	s.Call("RATE_LIMITED", "block_ip_address", map[string]any{"ip": peer})
	configure(t, "protect: {addresses: [198.51.100.0/24], services: [good]}\n")
	s.Call("PROTECTED_ADDRESS", "block_ip_address", map[string]any{"ip": peer})
	s.Call("PROTECTED_SERVICE", "restart_service", map[string]any{"service": "good"})
}

func refusedByState(t *testing.T, s *assistant.Session) {
	if err := os.WriteFile("/var/lib/sentinel/blocklist.json", []byte("garbage"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.Call("STATE_CORRUPT", "list_blocked_ips", map[string]any{})
	s.Call("STATE_CORRUPT", "block_ip_address", map[string]any{"ip": peer})
	s.Call("", "block_ip_address", map[string]any{"ip": peer})
	s.Call("", "unblock_ip_address", map[string]any{"ip": peer})
	do(t, "mount", "--bind", "/var/log/sentinel", "/var/log/sentinel")
	do(t, "mount", "-o", "remount,bind,ro", "/var/log/sentinel")
	s.Call("JOURNAL_FAILED", "block_ip_address", map[string]any{"ip": peer})
	do(t, "umount", "/var/log/sentinel")
	if out := do(t, "nft", "list", "ruleset"); strings.Contains(out, peer) {
		t.Errorf("blocked without a record: %s", out)
	}
}

func refusedWithoutRules(t *testing.T) {
	do(t, "mv", "/etc/sudoers.d/sentinel", "/root")
	s := connect(t, "--toolsets", "all")
	s.Call("PERMISSION_DENIED", "block_ip_address", map[string]any{"ip": peer})
	s.Call("PERMISSION_DENIED", "get_action_history", map[string]any{})
	s.Call("", "get_system_health", map[string]any{})
	do(t, "mv", "/root/sentinel", "/etc/sudoers.d")
}

// Without netlink the kernel seems to have no nftables.
func refusedWithoutFilter(t *testing.T) {
	out := do(t, "systemd-run", "--quiet", "--pipe", "--wait", "--property=RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6",
		"--property=InaccessiblePaths=/usr/sbin/xtables-nft-multi /usr/sbin/xtables-legacy-multi", "--property=SuccessExitStatus=1",
		"/usr/local/bin/sentinel", "--block-ip", peer, "--force")
	if !strings.Contains(out, `"error_code":"FIREWALL_UNAVAILABLE"`) {
		t.Errorf("the answer is %s", out)
	}
}

// A table that another program owns takes no rule from anybody else (nft(8),
// flags owner).
func refusedByFilter(t *testing.T, s *assistant.Session) {
	do(t, "nft", "delete table inet sentinel")
	owner := exec.Command("nft", "-i")
	in, err := owner.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); owner.Wait() })
	io.WriteString(in, "add table inet sentinel { flags owner; }\n")
	testenv.WaitFor(t, "the table of another program", func() bool { return strings.Contains(do(t, "nft", "list tables"), "inet sentinel") })
	s.Call("FIREWALL_FAILED", "block_ip_address", map[string]any{"ip": peer})
	if last := history(t); last["state"] != "failed" || last["code"] != "FIREWALL_FAILED" {
		t.Errorf("the journal has %v", last)
	}
}

func runsOut(t *testing.T) {
	do(t, "systemctl", "start", "stubborn.service")
	s := connect(t, "--timeout", "3s")
	if d := s.Call("CANCELLED", "restart_service", map[string]any{"service": "stubborn"}); !strings.Contains(d.Text("error"), "and goes on") {
		t.Errorf("the answer is %v", d)
	}
	if state := do(t, "systemctl", "show", "--property=Job", "stubborn.service"); strings.TrimSpace(state) == "Job=" {
		t.Error("the restart was given up, though systemd had accepted it")
	}
	if last := history(t); last["state"] != "pending" {
		t.Errorf("the journal has %v", last)
	}
	// What still heeds no SIGTERM would hold up the end of the machine.
	do(t, "systemctl", "stop", "--no-block", "stubborn.service")
	testenv.WaitFor(t, "the end of the service", func() bool {
		exec.Command("systemctl", "kill", "--signal=KILL", "stubborn.service").Run() // fails when there is nothing left
		return strings.TrimSpace(do(t, "systemctl", "show", "--property=ActiveState", "stubborn.service")) != "ActiveState=deactivating"
	})
}
