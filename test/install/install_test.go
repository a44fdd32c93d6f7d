// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package install tests what a person gets who installs the package: on a Debian
// that has never seen sentinel, with its real service manager, sudo and package manager.
package install

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"sentinel/internal/testenv"
	"sentinel/test/assistant"
)

const user = "alice"

// build makes the package in two versions and the client, and returns what the
// container needs by its path there.
func build(t *testing.T) map[string]string {
	t.Helper()
	if os.Getenv("SENTINEL_TEST_INSIDE") != "" {
		return nil
	}
	dir := t.TempDir()
	files := map[string]string{}
	for _, version := range []string{"0.1.0", "0.1.1"} {
		cmd := exec.Command("make", "package", "VERSION="+version)
		cmd.Dir = "../.."
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("make package: %v\n%s", err, out)
		}
		found, err := filepath.Glob("../../dist/sentinel_" + version + "-*_" + runtime.GOARCH + ".deb")
		if err != nil || len(found) != 1 {
			t.Fatalf("packages %v, %v", found, err)
		}
		path, err := filepath.Abs(found[0])
		if err != nil {
			t.Fatal(err)
		}
		files[path] = "/packages/" + version + ".deb"
	}
	assistant.Build(t, "../interop", dir, "./client")
	files[filepath.Join(dir, "client")] = "/packages/client"
	guide, err := filepath.Abs("../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	files[guide] = sshGuide
	return files
}

// run runs a program that has to succeed and returns what it printed.
func run(t *testing.T, words ...string) string {
	t.Helper()
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8", "PATH=/usr/sbin:/usr/bin:/sbin:/bin")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", words, err, out)
	}
	return string(out)
}

// fails says whether a program fails.
func fails(words ...string) bool { return exec.Command(words[0], words[1:]...).Run() != nil }

// tree lists every file of the system but those of the kernel, of the running
// system and of the package manager itself.
func tree(t *testing.T) (files []string) {
	t.Helper()
	passed := []string{"/proc", "/sys", "/dev", "/run", "/tmp", "/var/tmp", "/result", "/packages", "/sentinel.test", "/var/lib/dpkg", "/var/log", "/var/cache", "/var/lib/apt", "/var/lib/systemd", "/root", "/home"}
	err := filepath.WalkDir("/", func(path string, d fs.DirEntry, err error) error {
		if slices.Contains(passed, path) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		files = append(files, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestThePackageFromInstallationToRemoval(t *testing.T) {
	if !testenv.BootedWith(t, nil, build(t)) {
		return
	}
	before := tree(t)
	run(t, "dpkg", "--install", "/packages/0.1.0.deb")
	run(t, "useradd", "--create-home", "--groups", "sentinel", user)
	if !t.Run("everything is in place", inPlace) || !t.Run("an assistant uses it", assists) {
		t.FailNow()
	}
	t.Run("an assistant uses it over ssh", assistsOverSSH)
	t.Run("a person at a shell uses it", fromAShell)
	t.Run("the advice fits who asks", advises)
	t.Run("what has nothing to do neither runs nor writes a line", quiet)
	t.Run("everything is green once the firewall is on", allGreen)
	t.Run("a server runs behind the guard", guards)
	t.Run("a receiver gets signed telemetry", reports)
	t.Run("metrics are written where they are asked for", measures)
	t.Run("an upgrade keeps what was configured", upgrades)
	t.Run("a removal takes back what is on trial", endsTrial)
	t.Run("a removal cleans up", removes)
	t.Run("what was removed comes back as it was", comesBack)
	t.Run("an upgrade gets past a broken version", upgradesBroken)
	run(t, "apt-get", "purge", "--yes", "sentinel")
	run(t, "rm", "--recursive", filepath.Dir(textfiles)) // of the exporter, which is not here
	run(t, "userdel", "--remove", user)
	for _, path := range tree(t) {
		if !slices.Contains(before, path) && !strings.HasPrefix(path, "/var/lib/sentinel") && !strings.HasPrefix(path, "/etc/sentinel") && !strings.Contains(path, "/etc/group") && !strings.Contains(path, "/etc/gshadow") &&
			!strings.Contains(path, "/etc/passwd") && !strings.Contains(path, "/etc/shadow") && !strings.Contains(path, "/etc/sub") && path != "/etc/.pwd.lock" && path != "/var/lib" && path != "/var/mail/"+user {
			t.Errorf("%s is left", path)
		}
	}
	if _, err := os.Stat("/var/log/sentinel/journal.jsonl"); err != nil {
		t.Errorf("the journal did not stay: %v", err)
	}
	for _, pattern := range []string{"/var/lib/sentinel/*blocklist*", "/var/lib/sentinel/*firewall*", "/var/lib/sentinel/audit*", "/var/lib/sentinel/recorder", "/var/lib/sentinel/offered"} {
		if left, err := filepath.Glob(pattern); err != nil || len(left) > 0 {
			t.Errorf("a later installation would find %v, %v", left, err)
		}
	}
	if _, err := os.Stat("/etc/sentinel/config.yaml"); err == nil {
		t.Error("the configuration is left after a purge")
	}
}

func inPlace(t *testing.T) {
	if changed := run(t, "dpkg", "--verify", "sentinel"); changed != "" {
		t.Errorf("dpkg finds changed files:\n%s", changed)
	}
	run(t, "visudo", "--check")
	run(t, "systemctl", "is-enabled", "sentinel-restore.service")
	run(t, "systemctl", "is-active", "sentinel-record.timer")
	run(t, "systemctl", "start", "sentinel-record.service")
	if !fails("systemctl", "is-active", "--quiet", "sentinel-restore.timer") {
		t.Error("a timer runs each minute while nothing is blocked")
	}
	if fails("man", "--version") {
		t.Log("man is not there; the pages are checked where they are made")
	}
	run(t, "runuser", "-u", user, "--", "sentinel-mcp", "--install", "claude-code")
	for who, words := range map[string][]string{user: {"runuser", "-u", user, "--", "sentinel"}, "root": {"sentinel"}} {
		for _, check := range doctor(t, words...) {
			// A bare Debian has no firewall, and root no client; the doctor says both.
			if check.Text("status") != "ok" && check.Text("value") != "Only root can tell." && check.Text("id") != "firewall" && (who == user || check.Text("id") != "clients") {
				t.Errorf("the doctor of %s says: %v", who, check)
			}
		}
	}
}

func doctor(t *testing.T, words ...string) []assistant.Document {
	t.Helper()
	var d assistant.Document
	if err := json.Unmarshal([]byte(run(t, append(words, "--doctor", "--json")...)), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Rows("checks")) < 10 {
		t.Fatalf("the doctor looked at %d things", len(d.Rows("checks")))
	}
	return d.Rows("checks")
}

func connect(t *testing.T) *assistant.Session {
	t.Helper()
	return assistant.Start(t, "runuser", "-u", user, "--", "/packages/client", "/usr/bin/sentinel-mcp")
}

// assists asks what people ask, as a user whom the rules of sudo let do it.
func assists(t *testing.T) {
	s := connect(t)
	health := s.Call("", "get_system_health", map[string]any{})
	if health.Text("threat_level") == "" || health.Text("agent_uuid") == "" {
		t.Errorf("how is my system doing? %v", health)
	}
	if health.Text("firewall_status") == "UNKNOWN" {
		t.Errorf("the firewall is unknown, so this was not root: %v", health)
	}
	s.Call("", "block_ip_address", map[string]any{"ip": "203.0.113.7", "reason": "test"})
	if set := run(t, "nft", "list", "table", "inet", "sentinel"); !strings.Contains(set, "203.0.113.7") {
		t.Errorf("the packet filter has not got the address:\n%s", set)
	}
	testenv.WaitFor(t, "the timer, which a block does not wait for", func() bool { return !fails("systemctl", "is-active", "sentinel-restore.timer") })
	if fails("runuser", "-u", user, "--", "sudo", "-n", "/usr/bin/sentinel", "--request", "get_system_health") {
		t.Error("the rules of sudo do not let the user read")
	}
	if !fails("runuser", "-u", user, "--", "sudo", "-n", "/usr/bin/sentinel", "--json") {
		t.Error("the rules of sudo allow another command line")
	}
}

// answer runs a program that may fail and returns its document.
func answer(t *testing.T, words ...string) assistant.Document {
	t.Helper()
	out, _ := exec.Command(words[0], words[1:]...).Output() // a failure has a document, too
	var d assistant.Document
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatalf("%v: %v\n%s", words, err, out)
	}
	return d
}

// fromAShell types what needs root without sudo, also at a terminal of one's own.
func fromAShell(t *testing.T) {
	as := []string{"runuser", "-u", user, "--"}
	if d := answer(t, append(as, "sentinel", "--block-ip", "203.0.113.9", "--ttl", "1h")...); d["success"] != true || d.Text("backend") != "nftables" {
		t.Errorf("--block-ip: %v", d)
	}
	typed := run(t, "timeout", "60", "script", "--quiet", "--return", "--command", "runuser -u "+user+" -- sentinel --unblock-ip 203.0.113.9", "/dev/null")
	if !strings.Contains(typed, "UNBLOCKED") || strings.Contains(typed, "{") {
		t.Errorf("--unblock-ip at a terminal:\n%s", typed)
	}
	if d := answer(t, append(as, "sentinel", "--history", "--last", "1")...); d["success"] != true || !strings.Contains(plain(t, d), `"sudo_user":"`+user+`"`) {
		t.Errorf("--history: %v", d)
	}
	if d := answer(t, append(as, "sentinel", "--block-ip", "127.0.0.1")...); d.Text("error_code") != "PROTECTED_ADDRESS" {
		t.Errorf("a refusal: %v", d)
	}
	if d := answer(t, append(as, "sentinel", "--block-ip", "203.0.113.9", "--force")...); d.Text("error_code") != "PERMISSION_DENIED" || !strings.Contains(d.Text("fix"), "no form for --force") {
		t.Errorf("what the rules have no form for: %v", d)
	}
}

func plain(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// advises asks as somebody who is no member, and as a member whose session is older.
func advises(t *testing.T) {
	run(t, "useradd", "--create-home", "bob")
	defer run(t, "userdel", "--remove", "bob")
	const join = "sudo usermod --append --groups sentinel bob"
	for _, check := range doctor(t, "runuser", "-u", "bob", "--", "sentinel") {
		if check.Text("id") == "sudo_rules" && !strings.Contains(check.Text("fix"), join) || strings.Contains(plain(t, check), "/usr/local") {
			t.Errorf("the doctor of somebody who is no member: %v", check)
		}
	}
	request := []string{"sh", "-c", `echo '{"ip":"203.0.113.9"}' | "$@"`, "sh"}
	for fix, as := range map[string][]string{
		join:                   {"runuser", "-u", "bob", "--"},
		"Log out and in again": {"setpriv", "--reuid", user, "--regid", user, "--clear-groups"},
	} {
		if d := answer(t, append(append(request, as...), "sentinel", "--request", "block_ip_address")...); d.Text("error_code") != "PERMISSION_DENIED" || !strings.Contains(d.Text("fix"), fix) {
			t.Errorf("%v: %v, want the fix %q", as, d, fix)
		}
	}
}

// logged counts what systemd's journal has of the units.
func logged(t *testing.T) string {
	t.Helper()
	run(t, "journalctl", "--sync")
	return run(t, "journalctl", "--quiet", "--output=cat", "--unit=sentinel-restore.service", "--unit=sentinel-restore.timer", "--unit=sentinel-report.service")
}

func quiet(t *testing.T) {
	timerIs(t, "active") // for the address that the assistant has blocked
	before := logged(t)
	for range 3 {
		run(t, "systemctl", "start", "sentinel-restore.service")
	}
	if after := logged(t); after != before {
		t.Errorf("runs with nothing to do wrote lines:\n%s", strings.TrimPrefix(after, before))
	}
	run(t, "nft", "flush", "table", "inet", "sentinel")
	run(t, "systemctl", "start", "sentinel-restore.service")
	if after := logged(t); !strings.Contains(strings.TrimPrefix(after, before), "1 added") {
		t.Errorf("a run that put back a block wrote: %q", strings.TrimPrefix(after, before))
	}
	run(t, "sentinel", "--unblock-ip", "203.0.113.7", "--json")
	timerIs(t, "inactive")
	run(t, "sentinel", "--block-ip", "203.0.113.7", "--json")
	timerIs(t, "active")
}

// leftBehind is what a removal says where a client starts servers through the guard.
const leftBehind = "cannot start them any longer: " + user

// guards runs the guard as the package installs it, and looks for what stands beside it. A server of
// the user stays behind it.
func guards(t *testing.T) {
	as := []string{"runuser", "-u", user, "--"}
	versions := map[string]bool{}
	for _, program := range []string{"sentinel", "sentinel-mcp", "sentinel-guard"} {
		words := append(strings.Fields(run(t, append(as, program, "--version")...)), "", "")
		versions[words[1]] = words[0] == program
	}
	if len(versions) != 1 || !versions["0.1.0"] {
		t.Errorf("the programs have versions %v", versions)
	}
	const line = `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}`
	if out := run(t, append(as, "sh", "-c", "echo '"+line+"' | sentinel-guard -- /bin/cat")...); !strings.Contains(out, line+"\n") {
		t.Errorf("what goes through the guard comes out as %q", out)
	}
	for _, file := range []string{"man/man1/sentinel-guard.1", "bash-completion/completions/sentinel-guard", "zsh/vendor-completions/_sentinel-guard", "fish/vendor_completions.d/sentinel-guard.fish", "doc/sentinel/docs/guard.md"} {
		run(t, "grep", "--quiet", "sentinel-guard", "/usr/share/"+file)
	}
	run(t, append(as, "sh", "-c", `mkdir ~/.cursor && printf '{"mcpServers": {"a": {"command": "/bin/cat"}}}' >~/.cursor/mcp.json`)...)
	if out := run(t, append(as, "sentinel-guard", "wrap", "--client", "cursor")...); !strings.Contains(out, "+ command: /usr/bin/sentinel-guard") {
		t.Errorf("wrap says:\n%s", out)
	}
	offered := run(t, append(as, "bash", "-c", "sentinel-guard __complete policy in")...)
	if !strings.Contains(offered, "init") {
		t.Errorf("a shell is offered %q", offered)
	}
}

// timerIs waits until the timer of restores is in a state; sentinel does not wait for it.
func timerIs(t *testing.T, want string) {
	t.Helper()
	run(t, "timeout", "60", "sh", "-c", `until [ "$(systemctl is-active sentinel-restore.timer)" = "$1" ]; do sleep 0.05; done`, "sh", want)
}

// allGreen switches the firewall on as the doctor of a bare Debian advises; then
// root's doctor has nothing left to say.
func allGreen(t *testing.T) {
	run(t, "systemctl", "start", "ssh")
	run(t, "sentinel", "--fix-firewall", "--json")
	run(t, "sentinel", "--fix-firewall", "--confirm", "--json")
	for _, check := range doctor(t, "runuser", "-u", user, "--", "sentinel") {
		if check.Text("status") != "ok" && check.Text("value") != "Only root can tell." {
			t.Errorf("the doctor says: %v", check)
		}
	}
	for _, check := range doctor(t, "sentinel") {
		if check.Text("status") != "ok" && check.Text("id") != "clients" {
			t.Errorf("root's doctor says: %v", check)
		}
	}
}

// reports sends to a receiver with a certificate of its own, by hand and by the
// unit that the package brings.
func reports(t *testing.T) {
	const key = "whsec_c2VudGluZWwtdGVzdC1rZXktb2YtMzItYnl0ZXMhISE="
	verifier, err := standardwebhooks.NewWebhook(key)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan assistant.Document, 10)
	receiver := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if err == nil {
			err = verifier.Verify(body, r.Header)
		}
		var d assistant.Document
		if err == nil {
			err = json.Unmarshal(body, &d)
		}
		if err != nil {
			t.Errorf("the receiver: %v", err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		got <- d
	}))
	defer receiver.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: receiver.Certificate().Raw})
	write(t, "/etc/sentinel/secrets/ca.pem", string(ca), 0o600)
	write(t, "/etc/sentinel/secrets/fleet.key", key+"\n", 0o600)
	write(t, "/etc/sentinel/config.yaml", "webhook:\n  tags: {role: web}\n  endpoints:\n    - url: "+receiver.URL+"/telemetry\n      secret_file: fleet.key\n      ca_file: ca.pem\n", 0o644)
	for _, words := range [][]string{{"sentinel", "--report"}, {"systemctl", "start", "sentinel-report.service"}} {
		run(t, words...)
		select {
		case d := <-got:
			if d.Text("threat_level") == "" || d.Text("firewall_status") != "ACTIVE" {
				t.Errorf("%v sent %v", words, d)
			}
		default:
			t.Errorf("%v sent nothing", words)
		}
	}
	run(t, "systemctl", "enable", "--now", "sentinel-report.timer")
	run(t, "systemctl", "is-active", "sentinel-report.timer")
}

// textfiles is where Debian's node_exporter looks for pages.
const textfiles = "/var/lib/prometheus/node-exporter"

// measures switches on what the package leaves off, on a host with node_exporter.
func measures(t *testing.T) {
	if !fails("systemctl", "is-enabled", "--quiet", "sentinel-metrics.timer") {
		t.Error("metrics are on without anybody having asked for them")
	}
	run(t, "install", "-d", textfiles)
	run(t, "systemctl", "enable", "--now", "sentinel-metrics.timer")
	run(t, "systemctl", "start", "sentinel-metrics.service")
	if page := run(t, "cat", textfiles+"/sentinel.prom"); !strings.Contains(page, "\nsentinel_blocked_addresses 1\n") || !strings.Contains(page, "\nsentinel_blocklist_in_sync 1\n") {
		t.Errorf("the page does not have the block:\n%s", page)
	}
	for _, file := range []string{"sentinel.rules.yml", "grafana-dashboard.json"} {
		run(t, "test", "-s", "/usr/share/doc/sentinel/packaging/prometheus/"+file)
	}
}

func write(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func upgrades(t *testing.T) {
	const own = "policy:\n  destructive_per_minute: 3\n"
	write(t, "/etc/sentinel/config.yaml", own, 0o644)
	write(t, "/etc/sentinel/config.d/50-own.yaml", "agent_id: upgraded\n", 0o644)
	run(t, "systemctl", "disable", "--now", "sentinel-restore.service")
	if out := run(t, "dpkg", "--install", "/packages/0.1.1.deb"); strings.Contains(out, leftBehind) {
		t.Errorf("an upgrade takes itself for a removal:\n%s", out)
	}
	if version := run(t, "dpkg-query", "--show", "--showformat=${Version}", "sentinel"); version != "0.1.1-1" {
		t.Errorf("version %s is installed", version)
	}
	if raw, err := os.ReadFile("/etc/sentinel/config.yaml"); err != nil || string(raw) != own {
		t.Errorf("the configuration is %q, %v", raw, err)
	}
	if health := run(t, "sentinel", "--json"); !strings.Contains(health, `"agent_id":"upgraded"`) {
		t.Errorf("what config.d says is not in force: %s", health)
	}
	if !fails("systemctl", "is-enabled", "sentinel-restore.service") {
		t.Error("the upgrade switched on what the administrator had switched off")
	}
	run(t, "systemctl", "enable", "--now", "sentinel-restore.service")
	if set := run(t, "nft", "list", "table", "inet", "sentinel"); !strings.Contains(set, "203.0.113.7") {
		t.Errorf("the upgrade lost a block:\n%s", set)
	}
}

// endsTrial removes the package while a change of the firewall is on trial, and installs it again.
func endsTrial(t *testing.T) {
	run(t, "systemctl", "is-active", "firewalld.service")
	run(t, "sentinel", "--disable-firewall", "--json")
	const trial = "/var/lib/sentinel/firewall-trial.json"
	if _, err := os.Stat(trial); err != nil || !fails("systemctl", "is-active", "--quiet", "firewalld.service") {
		t.Fatalf("the firewall is not off on trial: %v", err)
	}
	out := run(t, "apt-get", "remove", "--yes", "sentinel")
	if !strings.Contains(out, "it is taken back now") || strings.Contains(out, "could not be taken back") {
		t.Errorf("the removal says:\n%s", out)
	}
	if _, err := os.Stat(trial); err == nil {
		t.Error("the trial is left, and nobody would end it")
	}
	if raw, err := os.ReadFile("/var/log/sentinel/journal.jsonl"); err != nil || !strings.Contains(string(raw), "was switched on again: ended before it was confirmed") {
		t.Errorf("the journal does not tell: %v", err)
	}
	run(t, "systemctl", "is-active", "firewalld.service")
	run(t, "dpkg", "--install", "/packages/0.1.1.deb")
}

func removes(t *testing.T) {
	write(t, "/var/lib/sentinel/firewall.json", `{"version":1,"allow":["22/tcp"]}`, 0o644) // of a firewall of its own
	out := run(t, "apt-get", "remove", "--yes", "sentinel")
	for _, want := range []string{"its firewall (nftables, table sentinel_firewall) goes with it", "the addresses that it blocks get in again; the list of them stays for a new installation, unless the package is purged", leftBehind, `"sentinel-guard unwrap --all"`} {
		if !strings.Contains(out, want) {
			t.Errorf("the removal does not say %q:\n%s", want, out)
		}
	}
	for _, path := range []string{textfiles + "/sentinel.prom", "/usr/bin/sentinel", "/usr/bin/sentinel-mcp", "/usr/bin/sentinel-guard", "/usr/share/man/man1/sentinel-guard.1", "/usr/share/bash-completion/completions/sentinel-guard", "/usr/lib/systemd/system/sentinel-restore.service", "/etc/systemd/system/multi-user.target.wants/sentinel-restore.service"} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is left", path)
		}
	}
	for _, table := range []string{"sentinel", "sentinel_firewall"} {
		if !fails("nft", "list", "table", "inet", table) {
			t.Errorf("the table %s is left in the packet filter, and nobody could take it out", table)
		}
	}
	if failed := run(t, "systemctl", "--failed", "--no-legend", "--plain"); strings.Contains(failed, "sentinel") {
		t.Errorf("failed units are left: %s", failed)
	}
	for _, path := range []string{"/etc/sentinel/config.yaml", "/var/lib/sentinel/blocklist.json", "/var/log/sentinel/journal.jsonl"} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s did not stay: %v", path, err)
		}
	}
}

// comesBack installs what was removed and not purged. dpkg calls that by the same
// words as an upgrade.
func comesBack(t *testing.T) {
	run(t, "dpkg", "--install", "/packages/0.1.1.deb")
	timerIs(t, "active")
	run(t, "systemctl", "is-active", "sentinel-report.timer")
	if set := run(t, "nft", "list", "table", "inet", "sentinel"); !strings.Contains(set, "203.0.113.7") {
		t.Errorf("the block did not come back:\n%s", set)
	}
	run(t, "systemctl", "is-active", "sentinel-metrics.timer", "sentinel-record.timer")
	run(t, "systemctl", "disable", "--now", "sentinel-report.timer")
	// One unit less, or one that failed, keeps no package from being removed.
	write(t, "/etc/sentinel/config.yaml", "{", 0o644)
	if !fails("systemctl", "start", "sentinel-restore.service") {
		t.Error("a broken configuration does not fail")
	}
	if err := os.Remove("/usr/lib/systemd/system/sentinel-report.timer"); err != nil {
		t.Fatal(err)
	}
	removes(t)
	write(t, "/etc/sentinel/config.yaml", "", 0o644)
	run(t, "dpkg", "--install", "/packages/0.1.1.deb")
	timerIs(t, "active")
	if !fails("systemctl", "is-enabled", "sentinel-report.timer") {
		t.Error("the installation switched on what the administrator had switched off")
	}
}

// upgradesBroken upgrades from a version that cannot be upgraded; dpkg then asks the new one.
func upgradesBroken(t *testing.T) {
	write(t, "/var/lib/dpkg/info/sentinel.prerm", "#!/bin/sh\nexit 1\n", 0o755)
	run(t, "dpkg", "--install", "/packages/0.1.1.deb")
	timerIs(t, "active")
	run(t, "nft", "list", "table", "inet", "sentinel")
}
