// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/health"
	"sentinel/internal/sysexec"
)

// scripted answers commands by their arguments, and launchctl print of anything else as launchd does of what
// is not there.
type scripted struct {
	answers map[string]string
	asked   *[]string
}

func (s scripted) Run(_ context.Context, c sysexec.Command) (sysexec.Result, error) {
	argv := strings.Join(append([]string{c.Path}, c.Args...), " ")
	*s.asked = append(*s.asked, argv)
	if out, ok := s.answers[argv]; ok {
		return sysexec.Result{Stdout: []byte(out)}, nil
	}
	return sysexec.Result{Exit: 113, Stderr: []byte("Bad request.\nCould not find service in domain for system\n")}, nil
}

func printed(target, state string, lines ...string) string {
	return target + " = {\n\ttype = LaunchDaemon\n\tstate = " + state + "\n\n\tprogram = /usr/local/bin/x\n\t" + strings.Join(lines, "\n\t") + "\n}\n"
}

const restartingList = "PID\tStatus\tLabel\n" +
	"-\t78\tcom.example.waits\n" +
	"820\t1\tcom.example.loop\n" +
	"821\t1\tcom.example.settled\n" +
	"822\t-11\tcom.example.new\n" +
	"823\t1\tcom.example.demand\n" +
	"824\t-11\tcom.example.crashes\n" +
	"-\t1\tcom.example.failed\n" +
	"-\t3\tcom.example.gone\n" +
	"-\t-15\tcom.example.ended\n" +
	"900\t0\tcom.example.well\n" +
	"-\t1\tcom.apple.something\n"

// jobs are how launchd prints them below a domain.
func restartingJobs(domain string) map[string]string {
	const kept, demand = "properties = keepalive | runatload", "properties = inferred program"
	answers := map[string]string{"/bin/launchctl list": restartingList}
	for label, job := range map[string]struct {
		state string
		lines []string
	}{
		"com.example.waits":   {"spawn scheduled", []string{"runs = 41", "last exit code = 78: EX_CONFIG", kept}},
		"com.example.loop":    {"running", []string{"pid = 820", "runs = 12", "last exit code = 1", kept}},
		"com.example.settled": {"running", []string{"pid = 821", "runs = 9", "last exit code = 1", kept}},
		"com.example.new":     {"running", []string{"pid = 822", "runs = 2", "last terminating signal = Segmentation fault: 11", kept}},
		"com.example.demand":  {"running", []string{"pid = 823", "runs = 50", "last exit code = 1", demand}},
		"com.example.crashes": {"running", []string{"pid = 824", "runs = 7", "last terminating signal = Segmentation fault: 11", "semaphores = {\n\t\tcrashed => 1\n\t}", demand}},
		"com.example.failed":  {"not running", []string{"runs = 1", "last exit code = 1", kept}},
	} {
		answers["/bin/launchctl print "+domain+label] = printed(domain+label, job.state, job.lines...)
	}
	answers["/bin/ps -ww -o pid,ppid,uid,state,time,rss,user,lstart,comm -p 820,821,824"] = "  PID  PPID   UID STAT      TIME    RSS USER             STARTED                      COMM\n" +
		"  820     1     0 S      0:00.01   9120 root             Fri Nov 20 11:59:50 2026     /usr/local/bin/x\n" +
		"  821     1     0 S      0:00.01   9120 root             Fri Nov 20 10:00:00 2026     /usr/local/bin/x\n" +
		"  824     1     0 S      0:00.01   9120 root             Fri Nov 20 11:30:00 2026     /usr/local/bin/x\n"
	return answers
}

func TestJobsThatKeepDyingAreListed(t *testing.T) {
	want := []health.RestartingUnit{{Name: "com.example.waits", Restarts: 40, Waits: true}, {Name: "com.example.loop", Restarts: 11}, {Name: "com.example.crashes", Restarts: 6}}
	for _, c := range []struct {
		euid   int
		domain string
	}{{0, "system/"}, {501, "gui/501/"}, {502, "user/502/"}} {
		var asked []string
		m := Mac{Runner: scripted{restartingJobs(c.domain), &asked}, EUID: c.euid, Now: func() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }}
		got, err := Sources(m).Restarting(t.Context())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s\nasked %q", c.domain, err, diff, asked)
		}
		for _, label := range []string{"ended", "well", "com.apple"} {
			if strings.Contains(fmt.Sprint(asked), label) {
				t.Errorf("%s was asked about: %q", label, asked)
			}
		}
	}
}

// However many jobs have failed, a few are asked about.
func TestFewJobsAreAskedAbout(t *testing.T) {
	var asked []string
	list := "PID\tStatus\tLabel\n"
	for n := range 500 {
		list += fmt.Sprintf("-\t1\tcom.example.%d\n", n)
	}
	m := Mac{Runner: scripted{map[string]string{"/bin/launchctl list": list}, &asked}, Now: time.Now}
	if got, err := Sources(m).Restarting(t.Context()); err != nil || len(got) != 0 || len(asked) != 1+maxSuspects {
		t.Errorf("%v, %v, %d runs", got, err, len(asked))
	}
}
