// SPDX-License-Identifier: Apache-2.0

//go:build linux

package systemd

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

type answered struct {
	result sysexec.Result
	asked  sysexec.Command
}

func (a *answered) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	a.asked = c
	return a.result, nil
}

func TestFirstRestartIsThatOfTheSeriesOfNow(t *testing.T) {
	a := &answered{result: sysexec.Result{Stdout: []byte(`{"__REALTIME_TIMESTAMP":"1700000000000001","N_RESTARTS":"1"}` + "\nnot json\n{}\n")}}
	got, err := FirstRestart(t.Context(), a, "web.service")
	if err != nil || !got.Equal(time.UnixMicro(1700000000000001)) {
		t.Errorf("%v, %v", got, err)
	}
	if !slices.Contains(a.asked.Args, "_PID=1") || !slices.Contains(a.asked.Args, "UNIT=web.service") || !slices.Contains(a.asked.Args, "N_RESTARTS=1") || !slices.Contains(a.asked.Args, "--lines=1") || a.asked.Timeout == 0 {
		t.Errorf("%+v", a.asked)
	}
	a.result = sysexec.Result{}
	if got, err := FirstRestart(t.Context(), a, "web.service"); err != nil || !got.IsZero() {
		t.Errorf("nothing: %v, %v", got, err)
	}
	a.result.Exit = 1
	if _, err := FirstRestart(t.Context(), a, "web.service"); err == nil {
		t.Error("a failure of journalctl is no answer")
	}
}

// Services that were started lately come before one that waits, in the order of systemd.
func TestServicesThatWaitToRestartOfABootedSystemAreAllAsked(t *testing.T) {
	if !testenv.Booted(t, map[string]string{"calm@.service": "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n", "dies@.service": "[Service]\nRestart=always\nRestartSec=1h\nExecStart=/bin/false\n"}) {
		return
	}
	start := func(template string, n int) {
		names := "start"
		for i := range n {
			names += fmt.Sprintf(" %s@%d", template, i)
		}
		testenv.Systemctl(t, true, names)
	}
	start("calm", 2*maxAsked)
	start("dies", 10)
	conn, err := Connect(t.Context(), "/")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	testenv.WaitFor(t, "all that wait", func() bool {
		found, unasked, err := Restarting(t.Context(), conn)
		if err != nil || unasked == 0 {
			t.Fatalf("%d not asked, %v", unasked, err)
		}
		return len(found) == 10
	})
}

func TestMomentsOfTheJournal(t *testing.T) {
	for text, want := range map[string]time.Time{
		"1700000000000000": time.Unix(1700000000, 0), "": {}, "0": {}, "-5": {}, "x": {}, "99999999999999999999": {},
	} {
		if got := Moment(text); !got.Equal(want) {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestTerminalsAreNoServicesThatDie(t *testing.T) {
	for name, want := range map[string]bool{"getty@tty1.service": true, "console-getty.service": true, "nginx.service": false, "mygetty@x.service": false} {
		if isTerminal(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

func FuzzMoment(f *testing.F) {
	f.Add([]byte(`{"__REALTIME_TIMESTAMP":"1700000000000000"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if got := parseMoment(raw); !got.IsZero() && got.UnixMicro() <= 0 {
			t.Errorf("%v", got)
		}
	})
}
