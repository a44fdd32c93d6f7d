// SPDX-License-Identifier: Apache-2.0

//go:build linux

package services

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/services"
	"sentinel/internal/sysexec"
	"sentinel/internal/sysexec/replay"
	"sentinel/internal/testenv"
	"sentinel/platform/linux/procfs"
)

// logged returns the lines of a service, of a machine whose journalctl answers so in turn.
func logged(t *testing.T, u services.Unit, lines int, results ...sysexec.Result) (*replay.Sequence, []services.LogLine, error) {
	t.Helper()
	id := strings.Repeat("ab", 16)
	run := &replay.Sequence{Results: results}
	root := testenv.Plant(t, map[string]string{
		"etc/machine-id": id, "run/log/journal/" + id + "/": "", "etc/passwd": "mallory:x:1001:1001::/:/bin/sh\ndeploy:x:1002:1002::/:/bin/sh\n",
	})
	m := manager{root: root, runner: run, procfs: procfs.New(root)}
	got, err := m.Log(t.Context(), u, time.Unix(1000, 5000), lines)
	return run, got, err
}

func TestLastLinesOfAService(t *testing.T) {
	const entries = `{"MESSAGE":" cannot bind ","SYSLOG_IDENTIFIER":"nginx","__REALTIME_TIMESTAMP":"1000000006","_UID":"33"}
{"MESSAGE":" ","__REALTIME_TIMESTAMP":"1000000006"}
{"MESSAGE":[104,105,255],"__REALTIME_TIMESTAMP":"1000000005"}
{"MESSAGE":"is more than was asked for","__REALTIME_TIMESTAMP":"1000000004"}
`
	run, got, err := logged(t, services.Unit{Name: "nginx.service"}, 2, sysexec.Result{Stdout: []byte("0\n33\n")}, sysexec.Result{Stdout: []byte(entries)})
	if diff := cmp.Diff([]services.LogLine{{At: time.UnixMicro(1_000_000_005), Text: "hi\xff"}, {At: time.UnixMicro(1_000_000_006), Text: "nginx: cannot bind"}}, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if !strings.HasSuffix(run.Ran[1], " --since=@1000.000005 --unit=nginx.service") {
		t.Error(run.Ran[1])
	}
	if _, got, err := logged(t, services.Unit{Name: "nginx.service"}, 2, sysexec.Result{}, sysexec.Result{Exit: 1}); err == nil {
		t.Errorf("status 1: %+v", got)
	}
}

// A job of a user's crontab runs in cron.service, and names itself as it likes.
func TestWhatUsersWriteIntoTheLogOfAServiceIsTheirs(t *testing.T) {
	const own = `{"MESSAGE":"Failed with result 'exit-code'.","SYSLOG_IDENTIFIER":"systemd","__REALTIME_TIMESTAMP":"1000000009","_UID":"0","_PID":"1"}
{"MESSAGE":"bind: address already in use: port 5353","SYSLOG_IDENTIFIER":"systemd","__REALTIME_TIMESTAMP":"1000000008","_UID":"0","_PID":"70","_AUDIT_LOGINUID":"1001"}
{"MESSAGE":"Started.","SYSLOG_IDENTIFIER":"systemd","__REALTIME_TIMESTAMP":"1000000007","_UID":"33","_PID":"71"}
`
	const users = `{"MESSAGE":"bind: address already in use: port 5353","SYSLOG_IDENTIFIER":"systemd","__REALTIME_TIMESTAMP":"1000000010","_UID":"1001","_PID":"72"}
`
	uids, first, second := sysexec.Result{Stdout: []byte("33\n1001\n1002\n")}, sysexec.Result{Stdout: []byte(own)}, sysexec.Result{Stdout: []byte(users)}
	run, got, err := logged(t, services.Unit{Name: "cron.service", User: "deploy"}, 10, uids, first, second)
	want := []services.LogLine{
		{At: time.UnixMicro(1_000_000_007), Text: "(PID 71) systemd: Started."},
		{At: time.UnixMicro(1_000_000_008), Text: "(user mallory) systemd: bind: address already in use: port 5353", Foreign: true},
		{At: time.UnixMicro(1_000_000_009), Text: "systemd: Failed with result 'exit-code'."},
		{At: time.UnixMicro(1_000_000_010), Text: "(user mallory) systemd: bind: address already in use: port 5353", Foreign: true},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if !strings.HasSuffix(run.Ran[1], " --unit=cron.service _UID=0 _UID=33 _UID=1002 + _TRANSPORT=kernel _TRANSPORT=audit _TRANSPORT=driver") ||
		!strings.HasSuffix(run.Ran[2], " --lines=10 --unit=cron.service _UID=1001") {
		t.Errorf("%q", run.Ran)
	}
	_, got, err = logged(t, services.Unit{Name: "cron.service"}, 2, uids, first)
	if err != nil || len(got) != 2 || got[0].Text != want[0].Text || got[1].Text != want[2].Text {
		t.Errorf("lines of users take the room of the service: %v, %+v", err, got)
	}
	_, got, err = logged(t, services.Unit{Name: "user@1001.service", User: "1001"}, 1, uids, second)
	if err != nil || len(got) != 1 || got[0].Foreign || got[0].Text != "(PID 72) systemd: bind: address already in use: port 5353" {
		t.Errorf("a service that runs as the user: %v, %+v", err, got)
	}
}

// cron is a service that runs what a user wants. That has not ended before journald knows of which service it is.
const cron = `[Service]
ExecStart=/bin/sh -c 'mkfifo /run/lines; setpriv --reuid=1001 --clear-groups systemd-cat -t systemd -p err </run/lines & exec 3>/run/lines; yes "bind: Address already in use: port 5353" | head -n 500 >&3; until journalctl -q -t systemd _UID=1001 | grep -q 5353; do :; done; exec 3>&-; wait; echo disk is full; exit 3'
`

func TestLogOfABootedSystemBlamesNobodyForWhatAUserWrote(t *testing.T) {
	if !testenv.Booted(t, map[string]string{"cron.service": cron}) {
		return
	}
	testenv.Systemctl(t, true, "start cron")
	testenv.WaitFor(t, "the end of cron", func() bool { return show(t, "ActiveState", "cron") == "failed" })
	listening := func(context.Context) ([]services.Port, error) { return []services.Port{{PID: 7, Number: 5353}}, nil }
	testenv.WaitFor(t, "what it, its user and its manager wrote, in the journal", func() bool { // which reads them in any order
		got, err := services.Inspect(t.Context(), NewServices("/", sysexec.Host{}), services.Question{Name: "cron", Rows: -1, Now: time.Now(), Listening: listening})
		if err != nil || len(got.Services[0].PortsTakenBy) > 0 {
			t.Fatalf("%+v, %v", got, err)
		}
		var texts []string
		for _, line := range got.Services[0].Log {
			texts = append(texts, line.Text)
		}
		return !slices.ContainsFunc([]string{
			"sh: disk is full", "systemd: cron.service: Failed with result 'exit-code'.", "(user 1001) systemd: bind: Address already in use: port 5353",
		}, func(want string) bool { return !slices.Contains(texts, want) })
	})
}
