// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// makeHome gives the test user a home.
const makeHome = "mkdir /opt/home\nchown sentineltest /opt/home\nmount -t tmpfs -o mode=755 tmpfs /usr/local/bin\n"

// configured runs a script as the user of the stage, with sentinel-mcp as $MCP,
// and returns its exit status and what it printed on both streams.
func configured(t *testing.T, change, script string) (status int, stdout, stderr string) {
	t.Helper()
	files := map[string]string{
		"sudoers": silent + "sentineltest ALL=(root) NOPASSWD: /opt/bin/sentinel-mcp\n", "sentinel": whoami,
		"script": "#!/bin/sh\nexport HOME=/opt/home MCP=/opt/bin/sentinel-mcp\ncd\n" + script,
	}
	cmd := staged(t, files, makeHome+change+"cp \"$WORLD/script\" /opt/script\n", "/bin/sh /opt/script")
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			t.Fatal(err)
		}
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func TestInstallIsToldInSentences(t *testing.T) {
	status, out, errs := configured(t, "", `mkdir .cursor
printf '{\n  // mine\n  "mcpServers": {},\n}\n' >.cursor/mcp.json
cp .cursor/mcp.json before
$MCP --install cursor --read-only --toolsets all --disable-tool scan_ports --disable-tool dns_lookup --dry-run
echo "status $?"
cmp .cursor/mcp.json before
$MCP --install cursor --read-only --toolsets all --disable-tool scan_ports --disable-tool dns_lookup
cat .cursor/mcp.json
$MCP --install cursor
$MCP --uninstall cursor
cmp .cursor/mcp.json before
$MCP --uninstall cursor
ls -A .cursor
`)
	const args = `["--toolsets=all", "--read-only", "--disable-tool=scan_ports", "--disable-tool=dns_lookup"]`
	want := `/opt/home/.cursor/mcp.json, line 3:
+     "sentinel": {
+       "command": "/opt/bin/sentinel-mcp",
+       "args": ` + args + `
+     }
Nothing was changed: this was a dry run.
status 0
Cursor now has sentinel-mcp, in /opt/home/.cursor/mcp.json.
What was there before is in /opt/home/.cursor/mcp.json.before-sentinel.
Cursor picks up the change by itself; see its settings, under MCP.
{
  // mine
  "mcpServers": {
    "sentinel": {
      "command": "/opt/bin/sentinel-mcp",
      "args": ` + args + `
    }
  },
}
Cursor has sentinel-mcp already; nothing was changed in /opt/home/.cursor/mcp.json.
Cursor no longer has sentinel-mcp; it was taken out of /opt/home/.cursor/mcp.json.
Cursor picks up the change by itself; see its settings, under MCP.
Cursor does not have sentinel-mcp; nothing was changed in /opt/home/.cursor/mcp.json.
mcp.json
`
	if diff := cmp.Diff(want, out); diff != "" || status != 0 || errs != "" {
		t.Errorf("status %d, stderr %q (-want +got):\n%s", status, errs, diff)
	}
}

func TestInstallPutsItselfBehindTheGuard(t *testing.T) {
	status, out, errs := configured(t, "printf '#!/bin/sh\\n' >/opt/bin/sentinel-guard && chmod 755 /opt/bin/sentinel-guard\n", `mkdir .cursor
printf '{"mcpServers": {}}' >.cursor/mcp.json
cp .cursor/mcp.json before
$MCP --install cursor --read-only --guarded
cat .cursor/mcp.json; echo
$MCP --install cursor --guarded
$MCP --install cursor
$MCP --install cursor --read-only --json
$MCP --uninstall cursor
cmp .cursor/mcp.json before
`)
	const behind = "It is behind sentinel-guard; to take it out from there: sentinel-guard unwrap --client cursor --server sentinel\n"
	const path, reload = "/opt/home/.cursor/mcp.json", "Cursor picks up the change by itself; see its settings, under MCP.\n"
	const had = "Cursor has sentinel-mcp already; nothing was changed in " + path + ".\n"
	want := "Cursor now has sentinel-mcp, in " + path + ".\nWhat was there before is in " + path + ".before-sentinel.\n" + reload + behind +
		`{"mcpServers": {"sentinel": {"command": "/opt/bin/sentinel-guard", "args": ["run", "--name=sentinel", "--preset=sentinel", "--", "/opt/bin/sentinel-mcp", "--toolsets=default,diagnostics", "--read-only"]}}}` + "\n" +
		had + behind + had + behind
	rest, ok := strings.CutPrefix(out, want)
	if !ok || status != 0 || errs != "" || !strings.Contains(rest, `"guard":"/opt/bin/sentinel-guard"`) || !strings.HasSuffix(rest, "Cursor no longer has sentinel-mcp; it was taken out of "+path+".\n"+reload) {
		t.Errorf("status %d, stderr %q:\n%s\n%s", status, errs, cmp.Diff(want, out), rest)
	}
}

func TestInstallIsToldAsOneDocument(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		status int
		want   map[string]any
	}{
		"done": {"$MCP --install vscode --json", 0, map[string]any{
			"success": true, "action": "install_client", "client": "vscode", "path": "/opt/home/.config/Code/User/mcp.json",
			"changed": true, "dry_run": false, "command": "/opt/bin/sentinel-mcp", "args": []any{"--toolsets=default,diagnostics"},
		}},
		"nothing to do": {"$MCP --uninstall vscode --json", 0, map[string]any{
			"success": true, "action": "uninstall_client", "client": "vscode", "path": "/opt/home/.config/Code/User/mcp.json", "changed": false, "dry_run": false,
		}},
		"failed": {"echo '{' >.claude.json; $MCP --install claude-code --json", 1, map[string]any{
			"success": false, "action": "install_client", "error_code": "CONFIG_INVALID",
			"error": "/opt/home/.claude.json is left as it is: line 2, column 1: parsing value: unexpected EOF.",
			"fix":   "Correct the file, which the client cannot read either, then run the same command again.",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, errs := configured(t, "", test.script)
			var got map[string]any
			if err := json.Unmarshal([]byte(out), &got); err != nil || status != test.status || errs != "" || strings.Count(out, "\n") != 1 {
				t.Fatalf("status %d, %v: %s%s", status, err, out, errs)
			}
			for key, want := range test.want {
				if !cmp.Equal(got[key], want) {
					t.Errorf("%s is %v, want %v", key, got[key], want)
				}
			}
		})
	}
}

func TestInstallRefusesInOneSentenceAndAFix(t *testing.T) {
	for name, test := range map[string]struct{ change, script, want string }{
		"through sudo": {"", "sudo -n /opt/bin/sentinel-mcp --install cursor",
			"sentinel-mcp: The configuration of a client belongs to the person who uses it, and this run is root's.\nRun the same command as yourself, without sudo.\n"},
		"no guard":         {"", "$MCP --install cursor --guarded", "There is no sentinel-guard beside /opt/bin/sentinel-mcp.\nInstall all three programs"},
		"read-only folder": {"", "mkdir -m 0500 .cursor; $MCP --install cursor", "cannot be written"},
		"folder to make":   {"", "chmod 0500 .; $MCP --install cursor", "Make its folder writable with: chmod u+w '/opt/home'"},
		"unreadable":       {"", "echo '{}' >.claude.json; chmod 0200 .claude.json; $MCP --install claude-code", "/opt/home/.claude.json cannot be read"},
		"read-only file":   {"", "echo '{}' >.claude.json; chmod 0400 .claude.json; $MCP --install claude-code", "/opt/home/.claude.json is read-only"},
		"root's file":      {"echo '{}' >/opt/home/.claude.json\n", "$MCP --install claude-code", "/opt/home/.claude.json belongs to user 0, and this run is user 12345's."},
		"link to root's":   {"echo '{}' >/opt/etc/x.json\n", "ln -s /opt/etc/x.json .claude.json; $MCP --install claude-code", "/opt/etc/x.json belongs to user 0"},
		"temporary server": {"mount -t tmpfs -o mode=1777 tmpfs /dev/shm\n", "mkdir /dev/shm/x && cp $MCP /dev/shm/x && exec /dev/shm/x/sentinel-mcp --install cursor", "is in a folder for temporary files"},
		"full disk": {"mount -t tmpfs -o size=8k,mode=777 tmpfs /opt/home && chown sentineltest /opt/home\n",
			"head -c 4096 /dev/zero >fill; echo '{}' >.claude.json 2>/dev/null; : >.claude.json; head -c 4096 /dev/zero >fill2; $MCP --install claude-code", "/opt/home/.claude.json cannot be written"},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, errs := configured(t, test.change, test.script)
			if status != 1 || out != "" || !strings.HasPrefix(errs, "sentinel-mcp: ") || !strings.Contains(errs, test.want) || strings.Count(errs, "\n") != 2 {
				t.Errorf("status %d, stdout %q, stderr %q, want %q", status, out, errs, test.want)
			}
		})
	}
}

// The client must start the server that root has installed, not the one that runs --install.
func TestInstallNamesTheInstalledServer(t *testing.T) {
	status, out, errs := configured(t, "cp /opt/bin/sentinel-mcp /usr/local/bin/\n", "$MCP --install gemini-cli --json")
	if want := `"command":"/usr/local/bin/sentinel-mcp"`; status != 0 || !strings.Contains(out, want) {
		t.Errorf("status %d: %s%s, want %s", status, out, errs, want)
	}
}

// Whatever a killed run leaves, the configuration is whole.
func TestKilledInstallLeavesAWholeConfiguration(t *testing.T) {
	status, out, errs := configured(t, "", `printf '{\n  "mcpServers": {}\n}\n' >before
cp before .claude.json
$MCP --install claude-code >/dev/null && cp .claude.json after
i=0
while [ $i -lt 40 ]; do
	i=$((i + 1))
	cp before .claude.json
	timeout --signal=KILL 0.00$((i % 10)) $MCP --install claude-code >/dev/null 2>&1
	cmp -s before .claude.json || cmp -s after .claude.json || { echo torn; cat .claude.json; }
done
echo done
`)
	if status != 0 || out != "done\n" {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
}
