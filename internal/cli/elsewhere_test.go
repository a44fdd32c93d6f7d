// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"sentinel/internal/answer"
	"sentinel/internal/fault"
	"sentinel/internal/fleet"
	"sentinel/internal/health"
	"sentinel/internal/host"
	"sentinel/internal/ops"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// behindSSH plays ssh, and keeps what it was asked.
type behindSSH struct {
	answer func(host string) sysexec.Result

	mu       sync.Mutex
	seen     []string // host and tool
	requests []string
}

func (b *behindSSH) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	at := slices.Index(c.Args, "--")
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen = append(b.seen, c.Args[at+1]+" "+strings.Join(c.Args[at+2:], " "))
	b.requests = append(b.requests, string(c.Stdin))
	r := b.answer(c.Args[at+1])
	return c.Passed(r), os.WriteFile(c.Args[slices.Index(c.Args, "-E")+1], r.Stderr, 0o600) // as messages of ssh
}

func printed(stdout string, exit int) func(string) sysexec.Result {
	return func(string) sysexec.Result { return sysexec.Result{Stdout: []byte(stdout), Exit: exit} }
}

// reaching is sentinel on a machine from which others are reached.
func reaching(t *testing.T, ssh *behindSSH) Program {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte("x"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	p := shell(t, &behindSudo{}, 990)
	root := p.ConfigPath
	p.Open = func() (*host.Host, error) {
		return &host.Host{OS: "linux", Root: filepath.Dir(root), Live: true, Programs: ssh}, nil
	}
	p.UID = os.Getuid()
	return p
}

const (
	unblocked = `{"success":true,"action":"unblock_ip","timestamp":"2026-01-02T03:04:05Z","hostname":"h","version":"0.1.0","ip":"203.0.113.7","future":[1]}`
	denied    = `{"success":false,"action":"unblock_ip","timestamp":"2026-01-02T03:04:05Z","hostname":"h","version":"0.1.0","error":"It needs root.","error_code":"PERMISSION_DENIED","fix":"Run it with sudo: sudo sentinel --unblock-ip 203.0.113.7"}`
)

var callerOf = regexp.MustCompile(`"caller":"[^"]*@[^"]*"`)

func TestAnActionOnAnotherMachine(t *testing.T) {
	for name, test := range map[string]struct {
		args, stdin string
		answer      func(string) sysexec.Result
		seen        string
		request     string // with the caller left out
		exit        int
		says        []string
	}{
		"typed, and printed as it came": {"--host web1 --unblock-ip 203.0.113.7", "", printed(unblocked, 0),
			"web1 sentinel --request unblock_ip_address", `{"_context":{CALLER},"ip":"203.0.113.7"}`, 0, []string{`{"_context":{"host":"web1"},"success":true`, `"future":[1]`}},
		"a word": {"unblock 203.0.113.7 --host ann@web1 --reason x", "", printed(unblocked, 0),
			"ann@web1 sentinel --request unblock_ip_address", `{"_context":{CALLER},"ip":"203.0.113.7","reason":"x"}`, 0, []string{`"success":true`}},
		"a failure, with its exit status": {"--host web1 --unblock-ip 203.0.113.7", "", printed(denied, 3),
			"web1 sentinel --request unblock_ip_address", `{"_context":{CALLER},"ip":"203.0.113.7"}`, 3, []string{`"PERMISSION_DENIED"`}},
		"a page names the host in its commands": {"--host web1 --unblock-ip 203.0.113.7 --output text", "", printed(denied, 3),
			"web1 sentinel --request unblock_ip_address", `{"_context":{CALLER},"ip":"203.0.113.7"}`, 3, []string{"DENIED: web1 says: \"It needs root.\"\nOn web1: ", "ssh web1\nsentinel --doctor (web1 says: \"Run it with sudo: sentinel --host web1\n--unblock-ip 203.0.113.7\")\n"}},
		"nobody's command stands on its own line": {"--host web1 --security-audit --output text", "", printed(`{"success":true,"action":"security_audit","version":"0.1.0","overall_status":"WARNING","score":70,"coverage":1,"evaluated":1,"applicable":1,"checks":[{"id":"a.b","name":"It","value":"bad","status":"FAIL","fix":"Run: sudo x #"},{"id":"a.c","name":"Other","value":"bad","status":"FAIL","fix":"sudo y"}]}`, 0),
			"web1 sentinel --request security_audit", `{"_context":{CALLER},"verbose":true}`, 0, []string{"  web1 says: \"Run: sudo x #\"\n", "  web1 says: \"sudo y\"\n"}},
		"a change, and what should be known": {"--host web1 --unblock-ip 203.0.113.7 --output text", "", printed(strings.Replace(unblocked, `"future":[1]`, `"warnings":["See: sentinel --blocked-ips"]`, 1), 0),
			"web1 sentinel --request unblock_ip_address", `{"_context":{CALLER},"ip":"203.0.113.7"}`, 0, []string{"Note: web1 says: \"See: sentinel --host web1 --blocked-ips\"\n"}},
		"a request": {"--host web1 --request unblock_ip_address", `{"ip":"203.0.113.7","_context":{"caller":"Desk/1","tools":["unblock_ip_address"]}}`, printed(unblocked, 0),
			"web1 sentinel --request unblock_ip_address", `{"_context":{CALLER,"tools":["unblock_ip_address"]},"ip":"203.0.113.7"}`, 0, []string{`"host":"web1"`}},
		"the next calls are there": {"--host web1 --request get_system_health", `{"_context":{"tools":["get_top_processes"]}}`,
			printed(`{"success":true,"action":"system_health","version":"0.1.0","threat_level":"WARNING","threat_reasons":[{"code":"CPU_HIGH","message":"\"next\":\"get_top_processes\"","next":"get_top_processes"},{"code":"SWAP_HIGH","next":"get_top_processes {\"sort\":\"memory\"}"}]}`, 0),
			"web1 sentinel --request get_system_health", `{"_context":{CALLER,"tools":["get_top_processes"]}}`, 0,
			[]string{`"next":"get_top_processes {\"host\":\"web1\"}"}`, `"next":"get_top_processes {\"host\":\"web1\",\"sort\":\"memory\"}"`, `"message":"\"next\":\"get_top_processes\"",`}},
		"a wrong request costs no connection": {"--host web1 --request unblock_ip_address", `{"ip":7}`, nil, "", "", 2, []string{"INVALID_IP"}},
		"a dry run": {"--host web1 --unblock-ip 203.0.113.7 --dry-run", "", printed(`{"success":true,"action":"unblock_ip","version":"0.1.0","dry_run":true,"details":"Would."}`, 0),
			"web1 sentinel --request unblock_ip_address", `{"_context":{CALLER},"dry_run":true,"ip":"203.0.113.7"}`, 0, []string{`"dry_run":true`}},
		"twice":                    {"--host web1 --host web2 --top", "", nil, "", "", 2, []string{"USAGE", "--fleet-health alone"}},
		"the same twice":           {"--fleet-health --host web1,web1", "", nil, "", "", 2, []string{"USAGE", "twice"}},
		"an option":                {"--host -oProxyCommand=id --top", "", nil, "", "", 2, []string{"USAGE"}},
		"the version":              {"--host web1 --version", "", nil, "", "", 2, []string{"USAGE", "ssh web1 sentinel --version"}},
		"the version of an option": {"--version --host=-oProxyCommand=id", "", nil, "", "", 2, []string{"USAGE", "takes no such name"}},
		"the completions":          {"--completion bash --host web1", "", nil, "", "", 2, []string{"USAGE", "--host does not belong to --completion"}},
		"what is no tool":          {"--host web1 --doctor", "", nil, "", "", 2, []string{"USAGE", "ssh web1 sentinel --doctor"}},
		"no tool, and root's":      {"--host web1 --record", "", nil, "", "", 2, []string{"USAGE", "ssh -t web1 sudo sentinel --record"}},
		"what no request can have": {"--host web1 --top --limit all", "", nil, "", "", 2, []string{"USAGE", "--limit does not go together with --host"}},
		"force":                    {"--host web1 --unblock-ip 203.0.113.7 --force", "", nil, "", "", 2, []string{"USAGE", "--force"}},
		"for a monitoring system": {"--host web1 --check", "", printed(`{"success":true,"action":"system_health","version":"0.1.0","threat_level":"CRITICAL","threat_reasons":[{"code":"X","severity":"CRITICAL","message":"It burns."}]}`, 0),
			"web1 sentinel --request get_system_health", `{"_context":{CALLER}}`, 2, []string{"CRITICAL", "It burns."}},
		"its thresholds are not known": {"--host web1 --check", "", printed(`{"success":true,"action":"system_health","version":"0.1.0","threat_level":"LOW","memory":{"used_percent":20}}`, 0),
			"web1 sentinel --request get_system_health", `{"_context":{CALLER}}`, 0, []string{"memory=20%;;;0;100"}},
		"an audit for a monitoring system": {"--host web1 --security-audit --check", "", printed(`{"success":true,"action":"security_audit","version":"0.1.0","overall_status":"WARNING","score":70,"coverage":1,"evaluated":3,"applicable":3,"checks":[{"id":"b.two","status":"WARN"}]}`, 0),
			"web1 sentinel --request security_audit", `{"_context":{CALLER},"verbose":true}`, 1, []string{"SENTINEL AUDIT WARNING - Score 70 of 100, 3 of 3 checks came to a verdict. WARN: b.two."}},
		"an audit with an unknown verdict": {"--host web1 --security-audit --check", "", printed(`{"success":true,"action":"security_audit","version":"0.1.0","overall_status":"SPLENDID","score":70,"evaluated":3,"applicable":3,"checks":[]}`, 0),
			"web1 sentinel --request security_audit", `{"_context":{CALLER},"verbose":true}`, 3, []string{"SENTINEL AUDIT UNKNOWN"}},
		"updates for a monitoring system": {"--host web1 --check-updates --check", "", printed(`{"success":true,"action":"check_updates","version":"0.1.0","info":{"updates_available":true},"updates_total":3,"security_total":1}`, 0),
			"web1 sentinel --request check_updates", `{"_context":{CALLER},"verbose":true}`, 2, []string{"SENTINEL UPDATES CRITICAL - 3 updates, 1 for security."}},
		"updates that are not known": {"--host web1 --check-updates --check", "", printed(`{"success":true,"action":"check_updates","version":"0.1.0","info":{},"unavailable":[{"field":"info.updates_available","reason":"apt is not there"}]}`, 0),
			"web1 sentinel --request check_updates", `{"_context":{CALLER},"verbose":true}`, 3, []string{"SENTINEL UPDATES UNKNOWN - Which updates wait cannot be told: apt is not there."}},
		"a failure for a monitoring system": {"--host web1 --check", "", printed(`{"success":false,"action":"system_health","version":"0.1.0","error":"It has no time.","error_code":"TIMEOUT","fix":"Wait."}`, 1),
			"web1 sentinel --request get_system_health", `{"_context":{CALLER}}`, 3, []string{`SENTINEL HEALTH UNKNOWN - web1 says: "It has no time." On web1: Try again; `, `(web1 says: "Wait.")`}},
		"no connection for a monitoring system": {"--host web1 --security-audit --check", "", func(string) sysexec.Result {
			return sysexec.Result{Exit: 255, Stderr: []byte("ssh: connect to host 192.0.2.7 port 22: Connection refused\n")}
		}, "web1 sentinel --request security_audit", `{"_context":{CALLER},"verbose":true}`, 3, []string{"SENTINEL AUDIT UNKNOWN - web1 refuses the connection."}},
		"no tool, for a monitoring system": {"--host web1 --doctor --check", "", nil, "", "", 3, []string{"SENTINEL DOCTOR UNKNOWN - --host does not belong to this action", "ssh web1 sentinel --doctor"}},
		"nor is what a reason is about": {"--host web1 --output text", "", printed(`{"success":true,"action":"system_health","version":"0.1.0","threat_level":"WARNING","threat_reasons":[{"code":"DISK_FULL","severity":"WARNING","message":"The file system at /srv is full."}]}`, 0),
			"web1 sentinel --request get_system_health", `{"_context":{CALLER}}`, 0, []string{"/srv is full.\n\n"}},
		"the course of a figure": {"--host web1 --health-history --figure load --output text", "", printed(`{"success":true,"action":"health_history","version":"0.1.0","samples":1,"series":[{"figure":"load","bucket_seconds":60,"buckets":[{"time":"2027-03-01T03:00:00Z","min":1,"mean":2,"max":3}]}]}`, 0),
			"web1 sentinel --request get_health_history", `{"_context":{CALLER},"figure":"load"}`, 0, []string{"LEAST  MEAN  MOST"}},
		"lines of logs": {"--host web1 --logs --raw --output text", "", printed(`{"success":true,"action":"logs","version":"0.1.0","lines_total":1,"lines":[]}`, 0),
			"web1 sentinel --request get_logs", `{"_context":{CALLER},"raw":true}`, 0, []string{"The newest 0 of 1 line"}},
		"where the next command is for": {"--host web1 --output text", "", printed(`{"success":true,"action":"system_health","version":"0.1.0","threat_level":"CRITICAL","threat_reasons":[{"code":"FILESYSTEM_READ_ONLY","severity":"CRITICAL","message":"It is read-only."},{"code":"CPU_HIGH","severity":"WARNING","message":"It is busy."}]}`, 0),
			"web1 sentinel --request get_system_health", `{"_context":{CALLER}}`, 0, []string{"  sentinel --host web1 --logs --unit kernel --priority err --since 7d\n", "busy.\n  sentinel --host web1 --top\n"}},
		"no connection": {"--host web1 --top", "", func(string) sysexec.Result {
			return sysexec.Result{Exit: 255, Stderr: []byte("ssh: connect to host 192.0.2.7 port 22: Connection refused\n")}
		}, "web1 sentinel --request get_top_processes", `{"_context":{CALLER}}`, 1, []string{"HOST_UNREACHABLE", `"_context":{"host":"web1"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			ssh := &behindSSH{answer: test.answer}
			p := reaching(t, ssh)
			var out, errs bytes.Buffer
			exit := p.Run(t.Context(), strings.Fields(test.args), strings.NewReader(test.stdin), &out, &errs)
			if seen := strings.Join(ssh.seen, "\n"); seen != test.seen {
				t.Errorf("asked of ssh: %q", seen)
			}
			if request := callerOf.ReplaceAllString(strings.Join(ssh.requests, "\n"), "CALLER"); request != test.request {
				t.Errorf("request %s", request)
			}
			if exit != test.exit {
				t.Errorf("exit status %d", exit)
			}
			for _, want := range test.says {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in %s", want, out.String())
				}
			}
		})
	}
}

// Who asked is told to the other machine, with the program that they used.
func TestTheOriginOfARequestIsSentAlong(t *testing.T) {
	ssh := &behindSSH{answer: printed(unblocked, 0)}
	var out bytes.Buffer
	reaching(t, ssh).Run(t.Context(), []string{"--host", "web1", "--request", "unblock_ip_address"}, strings.NewReader(`{"ip":"203.0.113.7","_context":{"caller":"Desk/1"}}`), &out, &out)
	var request struct {
		Context struct{ Caller string } `json:"_context"`
	}
	if err := json.Unmarshal([]byte(ssh.requests[0]), &request); err != nil || request.Context.Caller != "Desk/1, "+origin() {
		t.Errorf("%v, caller %q", err, request.Context.Caller)
	}
}

// Another machine is no way around the policy of this one, and a fleet none around that of a tool. What is
// typed is a person's.
func TestThePolicyOfThisMachineHoldsForCallsToOthers(t *testing.T) {
	const policy = "policy: {read_only: true, disabled_tools: [dns_lookup, get_system_health]}\nhosts: [web1]\n"
	for args, test := range map[string]struct{ stdin, seen, says string }{
		"--host web1 --request dns_lookup":         {`{"name":"a.example"}`, "", `"DISABLED_BY_POLICY"`},
		"--host web1 --request unblock_ip_address": {`{"ip":"203.0.113.7"}`, "", "policy.read_only"},
		"--host web1 --request get_top_processes":  {`{}`, "web1 sentinel --request get_top_processes", `"top_processes"`},
		"--host web1 --dns a.example --json":       {"", "web1 sentinel --request dns_lookup", `"success"`},
		"--request get_fleet_health":               {`{}`, "", `"DISABLED_BY_POLICY"`},
	} {
		ssh := &behindSSH{answer: printed(`{"success":true,"action":"top_processes","version":"0.1.0","processes":[]}`, 0)}
		p := reaching(t, ssh)
		p.ConfigPath = filepath.Join(testenv.Plant(t, map[string]string{"config.yaml": policy}), "config.yaml")
		var out, errs bytes.Buffer
		p.Run(t.Context(), strings.Fields(args), strings.NewReader(test.stdin), &out, &errs)
		if seen := strings.Join(ssh.seen, "\n"); seen != test.seen || !strings.Contains(out.String(), test.says) {
			t.Errorf("%s: asked of ssh %q: %s", args, seen, out.String())
		}
	}
}

// A request that came over SSH goes through sudo, where its rules are likely to allow that.
func TestARequestOverSSHTakesTheRulesOfSudo(t *testing.T) {
	const health = `{"success":true,"action":"security_audit","version":"0.1.0"}`
	allowed := sysexec.Result{Stdout: []byte(health)}
	refused := sysexec.Result{Exit: 1, Stderr: []byte("sudo: a password is required\n")}
	for name, test := range map[string]struct {
		tool, stdin string
		groups      []int
		uid         int
		connection  string
		sudo        behindSudo
		asked       int
		says        string
	}{
		"a member":         {"security_audit", `{"verbose":true}`, []int{990}, 1000, "192.0.2.1 5 192.0.2.2 22", behindSudo{run: allowed}, 1, health},
		"an administrator": {"security_audit", `{}`, []int{27}, 1001, "192.0.2.1 5 192.0.2.2 22", behindSudo{run: allowed}, 1, health},
		"somebody else only where root is needed": {"unblock_ip_address", `{"ip":"203.0.113.7"}`, []int{7}, 1002, "192.0.2.1 5 192.0.2.2 22", behindSudo{run: refused, list: refused}, 1, "PERMISSION_DENIED"},
		"not over SSH":                 {"unblock_ip_address", `{"ip":"203.0.113.7"}`, []int{990}, 1000, "", behindSudo{run: allowed}, 0, "PERMISSION_DENIED"},
		"a wrong argument asks nobody": {"unblock_ip_address", `{"ip":7}`, []int{990}, 1000, "192.0.2.1 5 192.0.2.2 22", behindSudo{run: allowed}, 0, "INVALID_IP"},
	} {
		t.Run(name, func(t *testing.T) {
			p := shell(t, &test.sudo, test.groups...)
			p.UID = test.uid
			p.Getenv = func(name string) string { return map[string]string{"SSH_CONNECTION": test.connection}[name] }
			var out, errs bytes.Buffer
			p.Run(t.Context(), []string{"--request", test.tool}, strings.NewReader(test.stdin), &out, &errs)
			asked := slices.DeleteFunc(test.sudo.seen, func(line string) bool { return strings.HasPrefix(line, "-n -l") })
			if len(asked) != test.asked || len(asked) > 0 && asked[0] != "-k -n /usr/bin/sentinel --request "+test.tool+" "+test.stdin {
				t.Errorf("asked of sudo: %q", asked)
			}
			if !strings.Contains(out.String(), test.says) {
				t.Errorf("%s", out.String())
			}
		})
	}
}

// This machine's own row is that of root where the rules of sudo are likely to allow it.
func TestAFleetHasThisMachineAsRootSeesIt(t *testing.T) {
	sudo := &behindSudo{run: sysexec.Result{Stdout: []byte(`{"success":true,"action":"system_health","version":"0.1.0","threat_level":"CRITICAL","threat_reasons":[]}`)}}
	var out, errs bytes.Buffer
	exit := shell(t, sudo, 990).Run(t.Context(), []string{"--fleet-health", "--json"}, strings.NewReader(""), &out, &errs)
	if want := []string{"-k -n /usr/bin/sentinel --request get_system_health {}"}; !slices.Equal(sudo.seen, want) || exit != 0 || !strings.Contains(out.String(), `"local":true,"threat_level":"CRITICAL"`) {
		t.Errorf("status %d, asked of sudo %q: %s%s", exit, sudo.seen, out.String(), errs.String())
	}
}

// A page can be made of every answer, and what is no answer ends nothing.
func TestAnswersFromElsewhereCanBeShown(t *testing.T) {
	for _, op := range ops.All() {
		made := reflect.New(operations()[op.Name].result)
		fill(made.Elem(), 0)
		if h, ok := reflect.TypeAssert[*healthDocument](made.Elem()); ok {
			h.ThreatLevel = health.Critical
		}
		raw, err := json.Marshal(made.Interface())
		if err != nil {
			t.Fatal(err)
		}
		doc, err := documentOf(op, raw)
		if err == nil {
			err = showable(doc)
		}
		if err != nil {
			t.Errorf("%s: %v: %s", op.Name, err, raw)
		}
		for _, little := range []string{`{"success":true}`, `{"success":true,"services":[{}],"failures":{},"hosts":[{}],"label":"x"}`} {
			if doc, err := documentOf(op, []byte(little)); err == nil {
				if err := showable(doc); err != nil && fault.From(err).Code != fault.BadOutput {
					t.Errorf("%s: %v", op.Name, err)
				}
			}
		}
	}
	var silent healthDocument // its page would call the machine fine
	if err := showable(&silent); fault.From(err).Code != fault.BadOutput {
		t.Errorf("health without a level: %v", err)
	}
	if err := showable(&loginsDocument{}); fault.From(err).Code != fault.BadOutput {
		t.Errorf("what lacks everything: %v", err)
	}
}

// What an answer is refused for is in no document of this version: names that fold to one, and in a success
// what failures have.
func TestEveryAnswerIsTakenFromElsewhere(t *testing.T) {
	ssh := &behindSSH{}
	carrier, err := reaching(t, ssh).carrier()
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range ops.All() {
		d := reflect.New(operations()[op.Name].result)
		fill(d.Elem(), 0)
		dry := dryDocument{Header: answer.NewHeader("x", true), DryRun: true, Preview: d.Interface(), Asking: &asking{}}
		for _, document := range []any{d.Interface(), dry} {
			raw, err := json.Marshal(document)
			if err != nil {
				t.Fatal(err)
			}
			ssh.answer = printed(strings.Replace(string(raw), `"action":"x"`, `"action":"`+op.Action+`"`, 1), 0)
			if a, err := carrier.Run(t.Context(), "web1", op, nil, nil); err != nil || !a.Success {
				t.Errorf("%s: %v: %s", op.Name, err, raw)
			}
		}
	}
}

// The machines are those of the command line, or else of the configuration.
func TestAFleetIsAskedAtOnce(t *testing.T) {
	ssh := &behindSSH{answer: func(host string) sysexec.Result {
		if host == "gone" {
			return sysexec.Result{Exit: 255, Stderr: []byte("ssh: connect to host gone port 22: No route to host\n")}
		}
		level := map[string]string{"web1": "LOW", "db1": "CRITICAL", "db2": "WARNING"}[host]
		return sysexec.Result{Stdout: []byte(`{"success":true,"action":"system_health","version":"0.1.0","threat_level":"` + level + `","threat_reasons":[{"code":"X","severity":"WARNING","message":"a"},{"code":"Y","severity":"CRITICAL","message":"b"}],"cpu":{"percent":7},"disks":[{"used_percent":3},{"used_percent":91}]}`)}
	}}
	p := reaching(t, ssh)
	p.ConfigPath = filepath.Join(testenv.Plant(t, map[string]string{"config.yaml": "hosts: [web1, db1, gone]\n"}), "config.yaml")
	for args, want := range map[string]string{
		"--fleet-health --skip-local":             "db1 gone web1",
		"--fleet-health --skip-local --host db2":  "db2",
		"fleet --skip-local --host web1,gone,db2": "gone db2 web1",
	} {
		var out, errs bytes.Buffer
		exit := p.Run(t.Context(), append(strings.Fields(args), "--json"), strings.NewReader(""), &out, &errs)
		var d fleetDocument
		if err := json.Unmarshal(out.Bytes(), &d); err != nil || exit != 0 {
			t.Fatalf("%s: status %d, %v in %s", args, exit, err, out.String())
		}
		var names []string
		for _, h := range d.Hosts {
			names = append(names, h.Host)
			if h.Host == "db1" && (h.Reason != "b" || h.Reasons != 2 || *h.DiskPercent != 91 || *h.CPUPercent != 7) {
				t.Errorf("%+v", h)
			}
			if h.Host == "gone" && h.ErrorCode != "HOST_UNREACHABLE" {
				t.Errorf("%+v", h)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}

// The page leads on to a command that says more, and calls nothing well that nobody looked at.
func TestThePageOfTheFleetLeadsOn(t *testing.T) {
	for want, r := range map[string]fleet.Report{
		"UNKNOWN: No machine was asked.":            {},
		"to do about it with: sentinel --host web1": {Total: 1, Unanswered: 1, Hosts: []fleet.Row{{Host: "web1", ErrorCode: fault.SentinelNotFound, Error: "There is no sentinel on web1."}}},
		"Look closer with: sentinel\n":              {Total: 2, Warning: 1, Hosts: []fleet.Row{{Host: "here", Local: true, ThreatLevel: "WARNING"}, {Host: "web1", ThreatLevel: "LOW"}}},
	} {
		p := newPage(80, false)
		(&fleetDocument{Report: r}).view(p)
		if page := string(p.bytes()); !strings.Contains(strings.ReplaceAll(page, ":\n", ": "), want) {
			t.Errorf("%q is not in\n%s", want, page)
		}
	}
}
