// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/internal/answer"
	"sentinel/internal/audit"
	"sentinel/internal/blocklist"
	"sentinel/internal/fault"
	"sentinel/internal/firewall"
	"sentinel/internal/health"
	"sentinel/internal/ops"
	"sentinel/internal/processes"
)

// offered is a request whose client offers these tools.
func offered(t *testing.T, tool string, tools ...string) invocation {
	t.Helper()
	call := typed(t, "--request", tool)
	call.tools = &offer{}
	call.tools.take(tools)
	return call
}

func policed(t *testing.T, policy string) Program {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte("policy: "+policy+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return Program{ConfigPath: path}
}

// A model calls what a fix names: it must be a tool, and one that is on.
func TestAFixNamesToolsThatAreOn(t *testing.T) {
	const person = " (for the user, at a shell of this machine)"
	for _, c := range []struct {
		what   string
		policy string
		call   invocation
		err    *fault.Error
		want   string
	}{
		{"on", "{}", offered(t, "terminate_process", "get_top_processes"), fault.New(fault.InvalidPID, "No."), "Take the pid of a row of: get_top_processes"},
		{"not offered", "{}", offered(t, "terminate_process", "terminate_process"), fault.New(fault.InvalidPID, "No."), "Take the pid of a row of: sentinel --top" + person},
		{"nobody said what is offered", "{}", typed(t, "--request", "terminate_process"), fault.New(fault.InvalidPID, "No."), "Take the pid of a row of: sentinel --top"},
		{"off by policy", "{disabled_tools: [get_top_processes]}", offered(t, "terminate_process", "get_top_processes"), fault.New(fault.InvalidPID, "No."), "Take the pid of a row of: sentinel --top" + person},
		{"changes refused", "{read_only: true}", offered(t, "block_ip_address", "restart_service"), fault.New(fault.ProtectedProcess, "No."), "Leave it running; to restart a service, use: sudo sentinel --restart-service NAME" + person},
		{"needs to be switched on", "{}", offered(t, "enable_firewall", "disable_firewall"), fault.New(fault.FirewallFailed, "No.").WithFix("Take it back with sudo sentinel --disable-firewall."), "Take it back with sudo sentinel --disable-firewall" + person + "."},
		{"is switched on", "{enabled_tools: [disable_firewall]}", offered(t, "enable_firewall", "disable_firewall"), fault.New(fault.FirewallFailed, "No.").WithFix("Take it back with sudo sentinel --disable-firewall."), "Take it back with disable_firewall."},
		{"the denied tool itself", "{}", offered(t, "check_updates", "check_updates"), fault.New(fault.PermissionDenied, "No.").WithFix("Run: sudo sentinel --check-updates"), "Run: sudo sentinel --check-updates" + person},
		{"the tool that took too long", "{}", offered(t, "get_system_health", "get_system_health"), fault.New(fault.Timeout, "No."), "Try again; if it happens again, look for a hung disk or network mount with: sentinel --json" + person},
		{"a fix for tools", "{}", offered(t, "restart_service", "get_system_health"), fault.New(fault.ServiceNotFound, "No.").WithToolFix("Look at failed_units of: sentinel --json"), "Look at failed_units of: get_system_health"},
		{"a person", "{}", typed(t, "--kill", "5"), fault.New(fault.InvalidPID, "No."), "Take the pid of a row of: sentinel --top"},
	} {
		if got := fault.From(policed(t, c.policy).worded(c.call, c.err)).Fix; got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// Every usual fix is one that a model can follow, or says whom it is for.
func TestNoUsualFixSendsAModelToAShell(t *testing.T) {
	for _, i := range fault.All() {
		fix := fault.From(policed(t, "{}").worded(offered(t, "get_system_health", "get_system_health"), fault.New(i.Code, "No."))).Fix
		for _, sentence := range strings.SplitAfter(fix, "sentinel --")[1:] {
			if !strings.Contains(sentence, "(for the user, at a shell of this machine)") {
				t.Errorf("%s: %s", i.Code, fix)
			}
		}
		for _, program := range []string{"sudo ", "systemctl ", "launchctl "} {
			if strings.Contains(fix, program) && !strings.Contains(fix, "or the user, at a shell of this machine") {
				t.Errorf("%s: %s", i.Code, fix)
			}
		}
	}
}

// Advice beside an answer is worded as that of a failure.
func TestAdviceInAnAnswerNamesTools(t *testing.T) {
	f := func(text string) string { return "<" + text + ">" }
	h := answer.NewHeader("x", true)
	report := audit.Report{Checks: []audit.Result{{ID: "a", Fix: "one"}, {ID: "b", Fix: "two"}}}
	for _, d := range []advising{
		auditDocument{Header: h, Report: report},
		&blockedDocument{Header: h, Listing: blocklist.Listing{Warnings: []string{"one", "two"}}},
	} {
		raw, err := encode(d.advise(f), false)
		if err != nil || !strings.Contains(string(raw), "<one>") || !strings.Contains(string(raw), "<two>") {
			t.Errorf("%T: %s, %v", d, raw, err)
		}
	}
	audited := auditDocument{Header: h, Report: report}
	if advised, ok := audited.advise(f).(auditDocument); !ok || advised.FixNote == "" || audited.FixNote != "" {
		t.Errorf("whose the commands are: %q, %q", advised.FixNote, audited.FixNote)
	}
	sick := &healthDocument{Header: h, Report: health.Report{ThreatReasons: []health.Reason{
		{Code: "INODES_FULL", Object: "/srv"}, {Code: "DISK_FULL", Object: "/my data"}, {Code: "OOM_KILLS"}, {Code: "MEMORY_LOW"},
	}}}
	sick.advise(func(text string) string {
		return ops.AsCalls(text, func(tool string) bool { return tool == "get_disk_usage" })
	})
	for i, want := range []string{`get_disk_usage {"path":"/srv"}`, `get_disk_usage {"path":"/my data"}`, "", ""} {
		if got := sick.ThreatReasons[i].Next; got != want {
			t.Errorf("%s: %q, want %q", sick.ThreatReasons[i].Code, got, want)
		}
	}
	for _, d := range []advising{
		&enableDocument{Header: h, Enabled: firewall.Enabled{Details: "one"}}, &allowDocument{Header: h, Allowed: firewall.Allowed{Details: "one"}},
		&disableDocument{Header: h, Disablement: firewall.Disablement{Details: "one"}}, dryDocument{Header: h, Details: "one"},
		&terminateDocument{Header: h, Terminated: processes.Terminated{RestartNote: "one"}},
	} {
		if raw, err := encode(d.advise(f), false); err != nil || !strings.Contains(string(raw), "<one>") {
			t.Errorf("%T: %s, %v", d, raw, err)
		}
	}
	question := dryDocument{Header: h, Details: "one", Asking: &asking{}} // a person reads it
	if raw, err := encode(question.advise(f), false); err != nil || strings.Contains(string(raw), "<one>") {
		t.Errorf("%s, %v", raw, err)
	}
}

// A member of the group at a shell sends a request through sudo, and has no tools.
func TestARequestWithoutToolsKeepsItsCommands(t *testing.T) {
	call := typed(t, "--request", "enable_firewall")
	call.tools = &offer{}
	p := policed(t, "{}")
	if p.onOffer(call) != nil {
		t.Error("a shell is taken for a model")
	}
	const fix = "Look again with: sentinel --top"
	if got := fault.From(p.worded(call, fault.New(fault.ProcessNotFound, "No.").WithFix(fix))).Fix; got != fix {
		t.Errorf("%q, want %q", got, fix)
	}
}
