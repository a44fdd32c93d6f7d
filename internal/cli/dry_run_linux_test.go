// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/fault"
	"sentinel/internal/host"
	"sentinel/internal/host/local"
	"sentinel/internal/ops"
	"sentinel/internal/testenv"
)

// A machine is namespaces of the test's own, with what sentinel keeps in a folder.
type machine struct {
	t      *testing.T
	work   string
	nft    string
	posted int // what the receiver of telemetry got
	victim *exec.Cmd
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	testenv.RequireIsolated(t)
	m := &machine{t: t, work: t.TempDir(), nft: testenv.Program(t, "nft", "nftables")}
	m.victim = exec.Command("sleep", "1000")
	if err := m.victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.victim.Process.Kill(); m.victim.Wait() })
	for _, dir := range []string{"/run", "/var/lib"} { // no service manager is to be reached, and no state of this machine
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"/run/sshd", filepath.Join(m.work, "etc")} { // without the first, sshd -T says nothing
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m.configure("policy: {enabled_tools: [allow_service, disable_firewall]}\n")
	return m
}

func (m *machine) configure(content string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.work, "etc", "config.yaml"), []byte(content), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

// request runs a tool as a program does, as root.
func (m *machine) request(tool, arguments string) map[string]any {
	m.t.Helper()
	return m.run([]string{"--request", tool}, arguments)
}

// run runs sentinel as root.
func (m *machine) run(args []string, stdin string) map[string]any {
	m.t.Helper()
	p := Program{
		Open:       func() (*host.Host, error) { return local.Open("/") },
		ConfigPath: filepath.Join(m.work, "etc", "config.yaml"),
		StateDir:   filepath.Join(m.work, "state"),
		Journal:    quietJournal(m.work),
		Root:       true,
	}
	var out, errs bytes.Buffer
	p.Run(m.t.Context(), args, strings.NewReader(stdin), &out, &errs)
	var d map[string]any
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		m.t.Fatalf("%q %s: %v in %q, %s", args, stdin, err, out.String(), errs.String())
	}
	return d
}

// state is all that a change of the table could leave here.
func (m *machine) state() map[string]string {
	m.t.Helper()
	rules, err := exec.Command(m.nft, "list", "ruleset").Output()
	if err != nil {
		m.t.Fatal(err)
	}
	all := map[string]string{
		"rules": string(rules), "posted": strconv.Itoa(m.posted),
		"victim": fmt.Sprint(processLives(m.victim.Process.Pid)),
	}
	err = filepath.WalkDir(m.work, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		all[path] = string(raw)
		return err
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return all
}

// processLives says that a process is there and no zombie (proc_pid_stat(5)).
func processLives(pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(raw), ") Z ")
}

// arguments calls every tool that changes something in a way that it would do.
func (m *machine) arguments(url string) map[string]string {
	return map[string]string{
		"terminate_process":      fmt.Sprintf(`{"pid":%d`, m.victim.Process.Pid),
		"block_ip_address":       `{"ip":"203.0.113.7","ttl":"1h"`,
		"unblock_ip_address":     `{"ip":"203.0.113.9"`,
		"enable_firewall":        `{"keep_open":"https"`,
		"disable_firewall":       `{"reason":"x"`,
		"allow_service":          `{"services":"https"`,
		"restart_service":        `{"service":"nginx"`,
		"send_telemetry_webhook": fmt.Sprintf(`{"url":%q`, url),
	}
}

// A dry run by a program leaves the machine as it was, whatever the tool.
func TestADryRunByAProgramChangesNothing(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	m := newMachine(t)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { m.posted++ }))
	t.Cleanup(receiver.Close)
	m.configure(fmt.Sprintf("policy: {enabled_tools: [allow_service, disable_firewall]}\nwebhook: {endpoints: [{url: %q}]}\n", receiver.URL+"/"))
	if d := m.request("get_system_health", "{}"); d["agent_uuid"] == nil { // which the first document of root's makes
		t.Fatalf("%v", d)
	}
	if d := m.request("block_ip_address", `{"ip":"203.0.113.9"}`); d["success"] != true {
		t.Fatalf("the block to be taken back: %v", d)
	}
	arguments := m.arguments(receiver.URL + "/")
	before := m.state()
	for _, op := range ops.All() {
		if !op.Writes() {
			continue
		}
		for _, rest := range []string{`,"dry_run":true}`, `,"_context":{"asking":true}}`, `,"_context":{"asking":true,"asked":"accepted"}}`} {
			d := m.request(op.Name, arguments[op.Name]+rest)
			switch _, asking := d["asking"]; {
			case op.Name == "restart_service": // there is no service manager here; see mac_changes.txtar
				if d["error_code"] == nil {
					t.Errorf("%s: %v", op.Name, d)
				}
			case d["success"] != true || d["dry_run"] != true || d["details"] == "" || asking != strings.Contains(rest, "asking"):
				t.Errorf("%s%s: %v", op.Name, rest, d)
			}
			if diff := cmp.Diff(before, m.state()); diff != "" {
				t.Errorf("%s%s left (-before +after):\n%s", op.Name, rest, diff)
			}
		}
	}
	if d := m.request("block_ip_address", arguments["block_ip_address"]+`}`); d["success"] != true || cmp.Equal(before, m.state()) {
		t.Errorf("without dry_run nothing is seen to change either: %v", d)
	}
}

// A change is the one to which a person agreed, or none.
func TestAChangeIsBoundToWhatWasAgreedTo(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	m := newMachine(t)
	planOf := func(tool, arguments string) string {
		d := m.request(tool, arguments+`,"_context":{"asking":true}}`)
		asking, _ := d["asking"].(map[string]any)
		plan, _ := asking["plan"].(string)
		if plan == "" || asking["policy"] == "" {
			t.Fatalf("%s: %v", tool, d)
		}
		return plan
	}
	kill := fmt.Sprintf(`{"pid":%d`, m.victim.Process.Pid)
	plan := planOf("terminate_process", kill)
	agreed := func(plan string) string {
		return fmt.Sprintf(`,"_context":{"caller":"Desk/1","asked":"accepted","plan":%q}}`, plan)
	}
	for name, c := range map[string]struct{ tool, arguments, plan string }{
		"another process":       {"terminate_process", fmt.Sprintf(`{"pid":%d`, spawn(t)), plan},
		"another way to end it": {"terminate_process", kill + `,"graceful":true`, plan},
		"another tool":          {"block_ip_address", `{"ip":"203.0.113.7"`, plan},
		"another address":       {"block_ip_address", `{"ip":"203.0.113.8"`, planOf("block_ip_address", `{"ip":"203.0.113.7"`)},
		"another end":           {"block_ip_address", `{"ip":"203.0.113.7"`, planOf("block_ip_address", `{"ip":"203.0.113.7","ttl":"1h"`)},
		"another port":          {"enable_firewall", `{"keep_open":"8443/tcp"`, planOf("enable_firewall", `{"keep_open":"https"`)},
	} {
		before := m.state()
		if d := m.request(c.tool, c.arguments+agreed(c.plan)); d["error_code"] != string(fault.PlanChanged) {
			t.Errorf("%s: %v", name, d)
		}
		if diff := cmp.Diff(before, m.state()); diff != "" {
			t.Errorf("%s left (-before +after):\n%s", name, diff)
		}
	}
	if d := m.request("terminate_process", kill+agreed(plan)); d["success"] != true || processLives(m.victim.Process.Pid) {
		t.Errorf("agreed to: %v", d)
	}
	if got, want := m.last()["asked"], `accepted by user through "Desk/1"`; got != want {
		t.Errorf("the journal has %v, want %v", got, want)
	}
}

// Where a dry run found nothing to do, nobody was asked: what has become something to do since is not done.
func TestWhatWasIdleStaysIdle(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	m := newMachine(t)
	arguments := map[string]string{"disable_firewall": `{"reason":"x"`, "allow_service": `{"services":"4444"`}
	planned := func(tool, plan string) map[string]any {
		return m.request(tool, arguments[tool]+fmt.Sprintf(`,"_context":{"plan":%q}}`, plan))
	}
	idle := func(tool string) (plan string) {
		d := m.request(tool, arguments[tool]+`,"_context":{"asking":true}}`)
		asking, _ := d["asking"].(map[string]any)
		if plan, _ = asking["plan"].(string); asking["idle"] != true || plan == "" {
			t.Fatalf("%s: %v", tool, d)
		}
		if d := planned(tool, plan); d["success"] != true || d["changed"] != false {
			t.Errorf("%s, still idle: %v", tool, d)
		}
		return plan
	}
	do := func(tool, arguments string) {
		if d := m.request(tool, arguments); d["success"] != true {
			t.Fatalf("%s %s: %v", tool, arguments, d)
		}
	}
	refused := func(name, tool, plan string) {
		before := m.state()
		if d := planned(tool, plan); d["error_code"] != string(fault.PlanChanged) || strings.Contains(fmt.Sprint(d["error"]), "agreed") {
			t.Errorf("%s: %v", name, d)
		}
		if diff := cmp.Diff(before, m.state()); diff != "" {
			t.Errorf("%s left (-before +after):\n%s", name, diff)
		}
	}
	off, let := idle("disable_firewall"), idle("allow_service")
	do("enable_firewall", `{}`)
	refused("a firewall on trial", "disable_firewall", off)
	do("enable_firewall", `{"confirm":true}`)
	refused("a firewall that stays", "disable_firewall", off)
	refused("a port that it closes", "allow_service", let)
	do("disable_firewall", `{}`)
	off = idle("disable_firewall") // it is off on trial
	if d := m.run([]string{"--restore-blocklist", "--end-trial", "--json"}, ""); d["success"] != true {
		t.Fatalf("%v", d)
	}
	refused("the firewall is back, by the same manager", "disable_firewall", off)
}

func spawn(t *testing.T) (pid int) {
	t.Helper()
	c := exec.Command("sleep", "1000")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	return c.Process.Pid
}

// last is for whom the newest action in the journal was.
func (m *machine) last() map[string]any {
	m.t.Helper()
	d := m.request("get_action_history", `{"last":1}`)
	actions, _ := d["actions"].([]any)
	if len(actions) != 1 {
		m.t.Fatalf("%v", d)
	}
	who, _ := actions[0].(map[string]any)["who"].(map[string]any)
	return who
}

// The policy decides whether a program may do without a person who agrees; what is no change, and
// what changes nothing, needs nobody.
func TestThePolicyMayRequireThatAPersonAgrees(t *testing.T) {
	if !testenv.Isolated(t) {
		return
	}
	m := newMachine(t)
	const block, agreed, typed = `{"ip":"203.0.113.7"`, `,"_context":{"caller":"Desk/1","asked":"accepted"}}`, `,"_context":{"asked":"typed"}}`
	for policy, refused := range map[string]bool{"off": false, "offered": false, "required": true} {
		m.configure("policy: {ask: " + policy + "}\n")
		before := m.state()
		d := m.request("block_ip_address", block+`}`)
		if got := d["error_code"] == string(fault.DisabledByPolicy); got != refused || refused && !cmp.Equal(before, m.state()) {
			t.Errorf("%s, nobody asked: %v", policy, d)
		}
		if refused && !strings.Contains(d["fix"].(string), "run sentinel with --block-ip themselves") {
			t.Errorf("the fix is %q", d["fix"])
		}
		if !refused {
			m.request("unblock_ip_address", block+`}`)
		}
		for _, context := range []string{agreed, typed} {
			if d := m.request("block_ip_address", block+context); d["success"] != true {
				t.Errorf("%s, %s: %v", policy, context, d)
			}
			if d := m.request("unblock_ip_address", block+context); d["success"] != true {
				t.Errorf("%s, %s: %v", policy, context, d)
			}
		}
		if d := m.request("get_top_processes", `{}`); d["success"] != true {
			t.Errorf("%s: a read: %v", policy, d)
		}
		d = m.request("block_ip_address", block+`,"_context":{"asking":true}}`)
		if asking, _ := d["asking"].(map[string]any); asking["policy"] != policy || asking["idle"] != false {
			t.Errorf("%s: %v", policy, d)
		}
	}
	if got, want := m.last()["asked"], "typed at a terminal"; got != want {
		t.Errorf("the journal has %v, want %v", got, want)
	}
	// What goes where the configuration says needs nobody; anywhere else it does.
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { m.posted++ }))
	t.Cleanup(receiver.Close)
	m.configure(fmt.Sprintf("policy: {ask: required}\nwebhook: {endpoints: [{url: %q}]}\n", receiver.URL+"/"))
	for url, want := range map[string]string{receiver.URL + "/": "", "https://192.0.2.7/": string(fault.DisabledByPolicy)} {
		arguments := fmt.Sprintf(`{"url":%q`, url)
		d := m.request("send_telemetry_webhook", arguments+`,"_context":{"asking":true}}`)
		asking, _ := d["asking"].(map[string]any)
		if asking["idle"] != (want == "") {
			t.Errorf("%s: %v", url, d)
		}
		if d := m.request("send_telemetry_webhook", arguments+`}`); want == "" && d["success"] != true || want != "" && d["error_code"] != want {
			t.Errorf("%s, nobody asked: %v", url, d)
		}
	}
	if m.posted != 1 {
		t.Errorf("%d documents were sent", m.posted)
	}
}
