// SPDX-License-Identifier: Apache-2.0

//go:build linux

package know

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sentinel/test/assistant"
)

// Every code that these tools can fail with reaches the assistant as sentinel
// gave it, with what to do.
func TestEveryRefusalReachesTheAssistant(t *testing.T) {
	t.Parallel()
	if !onMachine(t) {
		return
	}
	s := connect(t, "--toolsets", "all")
	names(t)
	for _, target := range []any{
		"-oN /etc/x", "--script=x", "-", "", strings.Repeat("a", 300), strings.Repeat("a.", 150), "exämple.net", "例え.jp", "10.9.8.0/24", "2001:db8::/64",
		"a b", "a;b", "$(id)", "http://10.9.8.2", "10.9.8.2:80", "[::1]", "fe80::1%near0", "0.0.0.0", "224.0.0.1", "010.9.8.2", "256.1.1.1", "127.1", "a\u202eb", "a\x00b",
	} {
		s.Call("INVALID_TARGET", "scan_ports", map[string]any{"target": target, "port_range": "22"})
		s.Call("INVALID_TARGET", "traceroute", map[string]any{"target": target})
	}
	for _, target := range []any{7, nil, true, []any{"127.0.0.1"}, map[string]any{}} {
		s.Call("INVALID_TARGET", "scan_ports", map[string]any{"target": target})
	}
	for _, ports := range []any{"0", "65536", "80-22", "1-", ",", "a", "-1", "1--2", "22 -oN /etc/x", "99999999999999999999", "T:22", "1-2-3", "٢٢"} {
		s.Call("INVALID_PORT_RANGE", "scan_ports", map[string]any{"target": "127.0.0.1", "port_range": ports})
	}
	for _, name := range []any{"-x", "", strings.Repeat("a", 300), "a b", "a..b", "10.9.8.0/24"} {
		s.Call("INVALID_TARGET", "dns_lookup", map[string]any{"name": name})
	}
	for _, c := range []struct {
		code, tool string
		arguments  map[string]any
	}{
		{"INVALID_TARGET", "scan_ports", map[string]any{}},
		{"INVALID_ARGUMENT", "scan_ports", map[string]any{"target": "127.0.0.1", "force": true}},
		{"INVALID_ARGUMENT", "dns_lookup", map[string]any{"name": "www.example.net", "record_type": "AXFR"}},
		{"INVALID_ARGUMENT", "security_audit", map[string]any{"exempt": []any{"x"}}},
		{"INVALID_ARGUMENT", "check_updates", map[string]any{"refresh": true}},
		{"HOST_NOT_FOUND", "scan_ports", map[string]any{"target": "nothing.example.net"}},
		{"HOST_NOT_FOUND", "traceroute", map[string]any{"target": "nothing.example.net"}},
		{"HOST_NOT_FOUND", "dns_lookup", map[string]any{"name": "nothing.example.net"}},
		{"TARGET_NOT_ALLOWED", "scan_ports", map[string]any{"target": "192.0.2.7"}},
		{"TARGET_NOT_ALLOWED", "scan_ports", map[string]any{"target": "2001:db8::7"}},
		{"TARGET_NOT_ALLOWED", "scan_ports", map[string]any{"target": "www.example.net"}},
		{"TARGET_NOT_ALLOWED", "scan_ports", map[string]any{"target": "169.254.169.254"}},
		{"UNAVAILABLE", "traceroute", map[string]any{"target": "192.0.2.7"}},
	} {
		s.Call(c.code, c.tool, c.arguments)
	}
	if _, err := os.Lstat("/etc/x"); err == nil {
		t.Error("a target was taken for an option")
	}
	t.Run("configuration", func(t *testing.T) { s.T = t; refusedByConfiguration(t, s) })
	t.Run("name servers", func(t *testing.T) { s.T = t; refusedByNameServers(t, s) })
	t.Run("nmap", func(t *testing.T) { s.T = t; refusedWithoutNmap(t, s) })
	t.Run("package manager", refusedWithoutManager)
}

func refusedByConfiguration(t *testing.T, s *assistant.Session) {
	configure(t, "audit: {exempt: [{id: no_such_check, reason: tried in a test}]}\n")
	if d := s.Call("CONFIG_INVALID", "security_audit", map[string]any{}); !strings.Contains(d.Text("error"), "no_such_check") {
		t.Errorf("the failure does not name the check: %v", d)
	}
	configure(t, "audit: {exempt: [{id: no_such_check}]}\n")
	s.Call("CONFIG_INVALID", "security_audit", map[string]any{})
	configure(t, "scan: {engine: masscan}\n")
	s.Call("CONFIG_INVALID", "scan_ports", map[string]any{"target": "127.0.0.1"})
	configure(t, "scan: {only_targets: true}\n")
	s.Call("TARGET_NOT_ALLOWED", "scan_ports", map[string]any{"target": silent})
	s.Call("", "scan_ports", map[string]any{"target": own, "port_range": "22"})
	configure(t, "scan: {targets: [192.0.2.0/24]}\n")
	s.Call("UNAVAILABLE", "scan_ports", map[string]any{"target": "192.0.2.7", "port_range": "22"}) // allowed, and there is no route
}

func refusedByNameServers(t *testing.T, s *assistant.Session) {
	for _, server := range []string{"127.0.0.2", silent} {
		resolve(t, server)
		if d := s.Call("UNAVAILABLE", "dns_lookup", map[string]any{"name": "www.example.net"}); !strings.Contains(d.Text("error"), server) {
			t.Errorf("the failure does not name the server %s: %v", server, d)
		}
		if d := s.Call("HOST_NOT_FOUND", "scan_ports", map[string]any{"target": "www.example.net"}); !strings.Contains(d.Text("error"), "did not say") {
			t.Errorf("silence is taken for a word: %v", d)
		}
	}
	resolve(t, "127.0.0.1")
}

// An nmap that cannot be executed is not installed.
func refusedWithoutNmap(t *testing.T, s *assistant.Session) {
	configure(t, "scan: {engine: nmap}\n")
	nothing := filepath.Join(t.TempDir(), "nothing")
	put(t, nothing, "")
	for _, path := range []string{"/usr/bin/nmap", "/usr/local/bin/nmap"} {
		if _, err := os.Stat(path); err == nil {
			do(t, "mount", "--bind", nothing, path)
			defer do(t, "umount", path)
		}
	}
	if d := s.Call("UNAVAILABLE", "scan_ports", map[string]any{"target": "127.0.0.1", "port_range": "22"}); !strings.Contains(d.Text("error"), "nmap is not installed") {
		t.Errorf("the failure: %v", d)
	}
	s.Call("INVALID_TARGET", "scan_ports", map[string]any{"target": "--script=x"})
}

// The smallest machine has nothing but the programs.
func refusedWithoutManager(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"sentinel", "sentinel-mcp", "client"} {
		do(t, "cp", program(name), root)
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	s := assistant.Start(t, "chroot", root, "/client", "/sentinel-mcp", "--sentinel", "/sentinel", "--toolsets", "all")
	s.Call("UNSUPPORTED", "check_updates", map[string]any{})
}
