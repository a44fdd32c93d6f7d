// SPDX-License-Identifier: Apache-2.0

//go:build linux

package install

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"sentinel/test/assistant"
)

// sshGuide is docs/clients.md in the container.
const sshGuide = "/packages/clients.md"

// visitor sits at another machine, from which alice may log in.
const visitor = "bob"

// assistsOverSSH has a client elsewhere start the server through sshd, as docs/clients.md tells.
func assistsOverSSH(t *testing.T) {
	run(t, "systemctl", "start", "ssh", "systemd-user-sessions") // without which pam_nologin(8) lets nobody in
	run(t, "useradd", "--create-home", visitor)
	t.Cleanup(func() { run(t, "userdel", "--remove", visitor) })
	asVisitor := []string{"runuser", "-u", visitor, "--"}
	run(t, append(asVisitor, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "/home/"+visitor+"/.ssh/id_ed25519")...)
	key, err := os.ReadFile("/home/" + visitor + "/.ssh/id_ed25519.pub")
	if err != nil {
		t.Fatal(err)
	}
	named(t, "web-1")
	authorize(t, string(key))
	if out := run(t, append(asVisitor, "ssh", "-o", "StrictHostKeyChecking=accept-new", user+"@web-1", "sentinel-mcp", "--version")...); !strings.Contains(out, "0.1.0") {
		t.Errorf("by hand: %s", out)
	}

	client := append(append(asVisitor, "/packages/client"), command(t)...)
	t.Run("with the rights of the user there", func(t *testing.T) {
		s := assistant.Start(t, client...)
		if health := s.Call("", "get_system_health", map[string]any{}); health.Text("firewall_status") == "UNKNOWN" {
			t.Errorf("this was not root: %v", health)
		}
		s.Call("ALREADY_BLOCKED", "block_ip_address", map[string]any{"ip": "203.0.113.7"})
	})
	t.Run("with a key that only reads", func(t *testing.T) {
		authorize(t, strings.Replace(part(t, "authorized_keys"), "ssh-ed25519 AAAA…\n", string(key), 1))
		s := assistant.Start(t, client...)
		if tools := s.Ask(assistant.Ask{}).Tools; !slices.Contains(tools, "get_system_health") || slices.Contains(tools, "block_ip_address") {
			t.Errorf("tools: %v", tools)
		}
		other := exec.Command(asVisitor[0], append(asVisitor[1:], "ssh", "-o", "BatchMode=yes", user+"@web-1", "id")...)
		if out, err := other.Output(); err != nil || strings.Contains(string(out), "uid=") {
			t.Errorf("the key runs another command: %v, %s", err, out)
		}
	})
}

// named is a line of hosts(5) for a name of this machine.
func named(t *testing.T, name string) {
	t.Helper()
	before, err := os.ReadFile("/etc/hosts")
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	write(t, "/etc/hosts", string(before)+"127.0.0.1 "+name+"\n", 0o644)
}

// authorize lets a key log in as the user, with nothing before it.
func authorize(t *testing.T, line string) {
	t.Helper()
	run(t, "install", "-d", "-m", "700", "-o", user, "/home/"+user+"/.ssh")
	write(t, "/home/"+user+"/.ssh/authorized_keys", line, 0o644)
}

// command is what the client of the guide starts.
func command(t *testing.T) []string {
	t.Helper()
	var config struct {
		MCPServers map[string]struct {
			Command string
			Args    []string
		}
	}
	if err := json.Unmarshal([]byte(part(t, "client.json")), &config); err != nil {
		t.Fatal(err)
	}
	server := config.MCPServers["web-1"]
	return append([]string{server.Command}, server.Args...)
}

// part returns a file of the guide.
func part(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(sshGuide)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(raw), "<!-- file: "+file+" -->\n```")
	_, rest, _ = strings.Cut(rest, "\n")
	block, _, closed := strings.Cut(rest, "\n```\n")
	if !found || !closed {
		t.Fatalf("the guide has no %s", file)
	}
	return block + "\n"
}
