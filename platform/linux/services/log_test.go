// SPDX-License-Identifier: Apache-2.0

//go:build linux

package services

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/services"
	"sentinel/internal/sysexec"
	"sentinel/internal/sysexec/replay"
	"sentinel/internal/testenv"
)

func TestLastLinesOfAService(t *testing.T) {
	const entries = `{"MESSAGE":" cannot bind ","SYSLOG_IDENTIFIER":"nginx","__REALTIME_TIMESTAMP":"1000000006"}
{"MESSAGE":" ","__REALTIME_TIMESTAMP":"1000000006"}
{"MESSAGE":[104,105,255],"__REALTIME_TIMESTAMP":"1000000005"}
`
	id := strings.Repeat("ab", 16)
	run := &replay.Sequence{Results: []sysexec.Result{{Stdout: []byte(entries)}, {Exit: 1}}}
	m := manager{root: testenv.Plant(t, map[string]string{"etc/machine-id": id, "run/log/journal/" + id + "/": ""}), runner: run}
	got, err := m.Log(t.Context(), "nginx.service", time.Unix(1000, 5000), 10)
	if diff := cmp.Diff([]services.LogLine{{At: time.UnixMicro(1_000_000_005), Text: "hi\xff"}, {At: time.UnixMicro(1_000_000_006), Text: "nginx: cannot bind"}}, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if !strings.HasSuffix(run.Ran[0], " --since=@1000.000005 --lines=10 --unit=nginx.service") {
		t.Error(run.Ran[0])
	}
	if got, err := m.Log(t.Context(), "nginx.service", time.Unix(1000, 0), 10); err == nil {
		t.Errorf("status 1: %q", got)
	}
}
