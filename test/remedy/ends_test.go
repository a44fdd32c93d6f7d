// SPDX-License-Identifier: Apache-2.0

//go:build linux

package remedy

import (
	"strings"
	"testing"

	"sentinel/internal/testenv"
)

// tied are services whose end is the end of more.
var tied = map[string]string{
	"dog.service":     "[Unit]\nFailureAction=exit-force\n" + service("ExecStart=/bin/sleep infinity\n"),
	"carrier.service": service("ExecStart=/bin/sleep infinity\n"),
	"ssh.service":     "[Unit]\nBindsTo=carrier.service\nAfter=carrier.service\n" + service("ExecStart=/bin/sleep infinity\n"),
	"shelf.service":   service("ExecStart=/bin/sleep infinity\n"),
	"book.service":    "[Unit]\nBindsTo=shelf.service\nAfter=shelf.service\n" + service("ExecStart=/bin/sleep infinity\n"),
}

// What restart_service refuses for what goes with a service, terminate_process does not do either.
func TestTheEndOfAProcessIsThatOfItsService(t *testing.T) {
	if !onMachine(t) {
		return
	}
	install(t)
	const sentinel = "/usr/local/bin/sentinel"
	do(t, "systemctl", "start", "dog", "carrier", "ssh", "shelf", "book")
	for _, c := range []struct {
		unit, why string
		force     []string
	}{
		{"carrier", "the end of carrier.service stops ssh.service as well.", nil},
		{"dog", "when dog.service ends or fails, systemd may exit-force the system.", nil},
		{"dog", "when dog.service ends or fails, systemd may exit-force the system.", []string{"--force"}},
	} {
		pid := mainPID(t, c.unit)
		for _, dry := range [][]string{{"--dry-run"}, nil} {
			args := append(append([]string{"--kill", pid}, c.force...), dry...)
			if d := run(t, sentinel, args...); d.Text("error_code") != "PROTECTED_PROCESS" || !strings.HasSuffix(d.Text("error"), " must not be ended: "+c.why) {
				t.Errorf("%v: %v", args, d)
			}
		}
		if now := mainPID(t, c.unit); now != pid {
			t.Errorf("%s: main PID %s, before %s", c.unit, now, pid)
		}
	}
	if mainPID(t, "ssh") == "0" {
		t.Error("ssh is gone")
	}
	pid := mainPID(t, "shelf")
	if d := run(t, sentinel, "--kill", pid, "--dry-run"); !strings.HasSuffix(d.Text("details"), "would be sent SIGKILL. Its end also stops book.service.") {
		t.Errorf("%v", d)
	}
	if d := succeed(t, sentinel, "--kill", pid); !strings.Contains(text(t, d), `"also_stops":["book.service"]`) {
		t.Errorf("%v", d)
	}
	testenv.WaitFor(t, "book.service to stop", func() bool { return mainPID(t, "book") == "0" })
}
