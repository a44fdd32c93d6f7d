// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"sentinel/internal/ops"
	"sentinel/internal/testenv"
)

// realSentinel builds sentinel and returns it. It may run only on a stage.
func realSentinel(t *testing.T) string {
	t.Helper()
	testenv.Namespaces(t)
	path := filepath.Join(t.TempDir(), "sentinel")
	build := exec.Command("go", "build", "-o", path, "sentinel/cmd/sentinel")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// An outcome is what a client gets from a call.
type outcome struct {
	Result struct {
		IsError           bool
		StructuredContent struct {
			Success                bool
			Action, Error, Fix     string
			Hostname, Timestamp    string
			ErrorCode              string `json:"error_code"`
			JournalSeq             int    `json:"journal_seq"`
			Threat                 string `json:"threat_level"`
			Unavailable, Processes json.RawMessage
		}
	}
}

// outcomes runs one call after the other.
func outcomes(t *testing.T, cmd *exec.Cmd, lines ...string) []outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(strings.Join(lines, "")), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	var all []outcome
	for line := range strings.Lines(stdout.String()) {
		var o outcome
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		all = append(all, o)
	}
	if len(all) != len(lines) {
		t.Fatalf("%d answers to %d calls: %s%s", len(all), len(lines), stdout.String(), stderr.String())
	}
	return all
}

// changing lists a call of each tool that changes something. On a stage their targets do not exist.
func changing() map[string]string {
	return map[string]string{
		"terminate_process":  `{"pid":4194304}`,
		"block_ip_address":   `{"ip":"203.0.113.7"}`,
		"unblock_ip_address": `{"ip":"203.0.113.7"}`,
		"enable_firewall":    `{}`,
		"allow_service":      `{"services":"https"}`,
		"disable_firewall":   `{}`,
		"restart_service":    `{"service":"sentinel-none"}`,
	}
}

func callOf(tool, arguments string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}` + "\n"
}

// heard returns the text that a program on the stage writes into a pipe, or fails with the answer
// in said if it writes none.
func heard(t *testing.T, pipe string, said *bytes.Buffer) string {
	t.Helper()
	word := make(chan string, 1)
	go func() {
		raw, _ := os.ReadFile(pipe)
		word <- strings.TrimSpace(string(raw))
	}()
	select {
	case w := <-word:
		return w
	case <-time.After(20 * time.Second):
		t.Fatalf("nothing is heard from the stage; answers so far: %s", said.String())
		return ""
	}
}

const (
	historyLine = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get_action_history","arguments":{}}}`
	cancelLine  = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n"
)

// Whatever keeps sudo from being used, a change is denied with what to do about
// it, and nothing is run twice.
func TestChangeWithoutRootIsDenied(t *testing.T) {
	sentinel := realSentinel(t)
	password := "sentineltest ALL=(root) NOPASSWD: /bin/true\nsentineltest ALL=(root) PASSWD: ALL\n"
	for _, test := range []struct{ name, rules, change, says, fix string }{
		{"no rule", "", "", "needs root", "sudo make install"},
		{"rule that wants a password", password, "", "a password is required", "sudo make install"},
		{"folder that others can write", password, "chmod 0777 /opt/bin", "/opt/bin can be written by others", "Install it where only root can write"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, op := range ops.All() {
				if op.Effect == ops.Read || op.Privilege != ops.NeedsRoot {
					continue
				}
				arguments, known := changing()[op.Name]
				if !known {
					t.Errorf("no call of %s is known here", op.Name)
				}
				o := outcomes(t, onStage(t, silent+test.rules, sentinel, test.change), callOf(op.Name, arguments))[0]
				c := o.Result.StructuredContent
				if !o.Result.IsError || c.Success || c.ErrorCode != "PERMISSION_DENIED" || c.Action != op.Action {
					t.Errorf("%s: %+v, want PERMISSION_DENIED", op.Name, o)
				}
				if !strings.Contains(c.Error, test.says) || !strings.Contains(c.Fix, test.fix) || c.Timestamp == "" {
					t.Errorf("%s: %q, fix %q; want %q and %q", op.Name, c.Error, c.Fix, test.says, test.fix)
				}
			}
		})
	}
}

func TestReadingToolsAnswerWithAndWithoutRoot(t *testing.T) {
	sentinel := realSentinel(t)
	for name, rules := range map[string]string{"with": rule("get_system_health"), "without": ""} {
		o := outcomes(t, onStage(t, rules, sentinel, ""), callOf("get_system_health", "{}"))[0]
		if c := o.Result.StructuredContent; o.Result.IsError || !c.Success || c.Threat == "" {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// sudo compares the arguments joined by blanks, so this is the one other vector that a rule lets
// through. sentinel does not accept it as a flag.
func TestOneArgumentInPlaceOfTwoReachesNoTool(t *testing.T) {
	said := attemptsWith(t, shippedRules(t), realSentinel(t), []string{"sudo -n " + installed + " '--request terminate_process'"})[0]
	if !strings.Contains(said, `"error_code":"USAGE"`) || !strings.HasSuffix(said, "exit 2\n") {
		t.Errorf("%q, want a usage error", said)
	}
}

// End to end: a client ends a process of root, and the journal records the user.
func TestMemberOfTheGroupEndsAProcess(t *testing.T) {
	const change = `sleep 600 &
echo "$!" >/opt/pid
sed 's,/usr/local/bin/,/opt/bin/,' "$WORLD/rules" >/etc/sudoers.d/sentinel
chmod 0440 /etc/sudoers.d/sentinel
echo 'sentinel:x:12346:sentineltest' >>/etc/group
`
	files := map[string]string{"sudoers": silent, "rules": shippedRules(t), "sentinel": realSentinel(t)}
	const request = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"terminate_process","arguments":{"pid":'$(cat /opt/pid)',"reason":"a test"}}}`
	cmd := staged(t, files, change, `/bin/sh -c '`+
		`echo '\''`+request+`'\'' | /opt/bin/sentinel-mcp; test -d /proc/$(cat /opt/pid) && echo alive || echo gone; `+
		`echo '\''`+historyLine+`'\'' | /opt/bin/sentinel-mcp --toolsets all'`)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s%s", err, out, stderr.String())
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 3 {
		t.Fatalf("said %s%s", out, stderr.String())
	}
	if !strings.Contains(lines[0], `"structuredContent":{"success":true`) {
		t.Errorf("answer %s", lines[0])
	}
	if lines[1] != "gone" {
		t.Errorf("the process is %s", lines[1])
	}
	for _, want := range []string{`"sudo_user":"sentineltest"`, "terminate_process", "a test"} {
		if !strings.Contains(lines[2], want) {
			t.Errorf("history %s, want %s in it", lines[2], want)
		}
	}
}

// examined runs sentinel --doctor with the given shell words, as a member of the group, and returns
// the status of each finding.
func examined(t *testing.T, rules, sentinel, change, words string) map[string]string {
	t.Helper()
	files := map[string]string{"sudoers": silent, "rules": rules, "sentinel": sentinel, "attempts": ""}
	cmd := staged(t, files, install+change, words)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var d struct {
		Success  bool
		Problems int
		Checks   []struct {
			ID, Status string
			Tools      []string
		}
	}
	if jerr := json.Unmarshal(out, &d); err != nil || jerr != nil || !d.Success {
		t.Fatalf("%v, %v: %s%s", err, jerr, out, stderr.String())
	}
	found := map[string]string{"problems": strconv.Itoa(d.Problems)}
	for _, c := range d.Checks {
		found[c.ID] = c.Status
		if len(c.Tools) > 0 {
			found[c.ID] += ": " + strings.Join(c.Tools, " ")
		}
	}
	return found
}

func TestDoctorTellsWhatSudoAllows(t *testing.T) {
	sentinel := realSentinel(t)
	const (
		itself = "/usr/local/bin/sentinel --doctor"
		admin  = "echo 'sentineltest ALL=(root) NOPASSWD: /usr/local/bin/sentinel --doctor' >>/etc/sudoers.d/sentineltest\n"
		all    = "echo 'sentineltest ALL=(ALL) PASSWD: ALL' >/etc/sudoers.d/aaa\n"
		// changing are the tools that a read-only grant excludes.
		changing = "terminate_process block_ip_address unblock_ip_address enable_firewall restart_service send_telemetry_webhook"
	)
	for _, test := range []struct {
		name, rules, change, words string
		want                       map[string]string
	}{
		{"all rules", shippedRules(t), "", itself, map[string]string{
			"binary": "ok", "sudo": "ok", "sudoers_file": "ok", "configuration": "ok", "state_folder": "ok", "journal_folder": "ok", "journal": "unknown",
			"sudo_rules": "ok", "problems": "0",
		}},
		{"reading alone", readingAlone(t), "", itself, map[string]string{"sudo_rules": "warning: " + changing}},
		{"reading alone, the rest with a password", readingAlone(t), all, itself, map[string]string{"sudo_rules": "warning: " + changing}},
		{"behind sudo", readingAlone(t), admin, "sudo -n " + itself, map[string]string{
			"sudo_rules": "warning: " + changing, "journal": "ok", "problems": "0",
		}},
		{"binary that others can change", shippedRules(t), "chmod 0777 /usr/local/bin/sentinel\n", itself, map[string]string{"binary": "problem"}},
		{"configuration that others can change", shippedRules(t), "mkdir -p /etc/sentinel; touch /etc/sentinel/config.yaml; chmod 0666 /etc/sentinel/config.yaml\n", itself,
			map[string]string{"configuration": "problem", "configuration_folder": "ok"}},
		{"wrong configuration", shippedRules(t), "mkdir -p /etc/sentinel; echo 'nonsense: 1' >/etc/sentinel/config.yaml\n", itself, map[string]string{"configuration": "problem"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			found := examined(t, test.rules, sentinel, test.change, test.words)
			for id, want := range test.want {
				if found[id] != want {
					t.Errorf("%s is %q, want %q", id, found[id], want)
				}
			}
		})
	}
}

// A cancelled change is waited for, so that it can complete or undo what it began; the client wants
// no answer.
func TestCancelledChangeIsWaitedForAndNotAnswered(t *testing.T) {
	up, down := pipe(t), pipe(t)
	cmd := onStage(t, rule("terminate_process"), "#!/bin/sh\ntrap 'sleep 1; echo ended >"+down+"; exit 130' TERM\necho up >"+up+"\nwhile :; do sleep 0.1; done\n", "")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	io.WriteString(in, callOf("terminate_process", `{"pid":4194304}`))
	t.Cleanup(func() { cmd.Process.Kill() })
	heard(t, up, &stdout)
	io.WriteString(in, cancelLine)
	in.Close()
	heard(t, down, &stdout)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, stderr.String())
	}
	if stdout.Len() != 0 {
		t.Errorf("answer %s", stdout.String())
	}
}

// The same with the real program, in the middle of waiting for a process to end: the history says
// what the client no longer hears.
func TestCancelledTerminationIsRecorded(t *testing.T) {
	pid, asked := pipe(t), pipe(t)
	change := "/bin/sh -c 'trap \"echo asked >" + asked + "; sleep 1; exit\" TERM; echo $$ >" + pid + "; while :; do sleep 0.1; done' &\n"
	files := map[string]string{"sudoers": silent + rule("terminate_process") + rule("get_action_history"), "sentinel": realSentinel(t)}
	cmd := staged(t, files, change, `/bin/sh -c '/opt/bin/sentinel-mcp; echo '\''`+historyLine+`'\'' | /opt/bin/sentinel-mcp --toolsets all'`)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	number := heard(t, pid, &stdout)
	io.WriteString(in, callOf("terminate_process", `{"pid":`+number+`,"graceful":true}`))
	heard(t, asked, &stdout)
	io.WriteString(in, cancelLine)
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s%s", err, stdout.String(), stderr.String())
	}
	history := stdout.String()
	if strings.Count(history, "\n") != 1 {
		t.Errorf("the cancelled call was answered: %s", history)
	}
	if !strings.Contains(history, `"state":"done"`) || !strings.Contains(history, `"sudo_user":"sentineltest"`) {
		t.Errorf("history %s", history)
	}
}
