// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/fault"
	"sentinel/internal/processes"
	"sentinel/internal/services"
	"sentinel/internal/services/servicestest"
	"sentinel/internal/sysexec/replay"
	"sentinel/internal/testenv"
)

// listing is what ps says of this run: PID 900, below a shell of a job.
const listing = `  PID  PPID   UID STAT      TIME    RSS USER              STARTED                      COMM
    1     0     0 Ss   123:45.67  19232 root              Mon Sep  1 08:00:02 2025     /sbin/launchd
  700     1   501 S      0:05.00   1292 ana               Mon Sep  1 09:00:00 2025     /usr/local/bin/agentd
  800   700   501 S      0:01.00   1292 ana               Mon Sep  1 09:00:01 2025     -zsh
  900   800     0 R      0:00.01   1292 root              Mon Sep  1 09:00:02 2025     /usr/local/bin/sentinel
`

func up() *job {
	return &job{pid: 812, runs: 3, keep: true, load: true, file: "/Library/LaunchDaemons/com.example.web.plist", program: "/usr/local/bin/web"}
}

// with returns a job with something changed.
func with(change func(*job)) *job {
	j := up()
	change(j)
	return j
}

func mac(jobs map[string]*job) *fake {
	return &fake{root: true, jobs: jobs, ps: listing, log: []string{logged("NOW", "/usr/local/bin/web", 1001, "cannot open port")}}
}

func source(t *testing.T, m *fake) Services {
	t.Helper()
	euid := 0
	if m != nil && !m.root {
		euid = 501
	}
	return Services{Root: t.TempDir(), Runner: m, EUID: euid, PID: 900, User: 501, Now: time.Now}
}

const web = "system/com.example.web"

var situations = map[string]*job{
	"stays up":                      up(),
	"is off and wanted":             with(func(j *job) { j.pid = 0 }),
	"takes a while to stop":         with(func(j *job) { j.stops = 4 * time.Second }),
	"does its work while it is off": with(func(j *job) { j.pid, j.keep, j.lives = 0, false, []life{{time.Second, "last exit code = 0"}} }),
	"dies with status 3":            with(func(j *job) { j.keep, j.lives = false, []life{{0, "last exit code = 3"}} }),
	"dies by SIGKILL":               with(func(j *job) { j.keep, j.lives = false, []life{{time.Second, "last terminating signal = Killed: 9"}} }),
	"ends with success":             with(func(j *job) { j.keep, j.lives = false, []life{{time.Second, "last exit code = 0"}} }),
	"keeps dying":                   with(func(j *job) { j.lives = []life{{time.Second, "last exit code = 5"}} }),
	"does not stop":                 with(func(j *job) { j.stops = time.Hour }),
	"is off and not wanted":         with(func(j *job) { j.pid, j.keep, j.load = 0, false, false }),
	"is not there":                  nil,
}

func TestContract(t *testing.T) {
	for _, old := range []bool{false, true} {
		for _, s := range servicestest.Situations() {
			synctest.Test(t, func(t *testing.T) {
				j, known := situations[s.Name]
				if !known {
					t.Fatalf("nothing is known about a service that %s", s.Name)
				}
				m := mac(map[string]*job{})
				m.old = old
				if j != nil {
					again := *j
					m.jobs[web] = &again
				}
				s.Check(t, source(t, m), web)
				<-time.After(2 * time.Hour) // what was left behind ends, on the clock of the test
			})
		}
	}
}

// do plans and does on the clock of the test.
func do(t *testing.T, m *fake, o services.Options) (got services.Restarted, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var plan *services.Restart
		if plan, err = services.PlanRestart(t.Context(), source(t, m), o); err == nil {
			defer plan.Close()
			got, err = plan.Do(t.Context())
		}
		<-time.After(2 * time.Hour)
	})
	return got, err
}

func code(err error) fault.Code {
	if err == nil {
		return ""
	}
	return fault.From(err).Code
}

func fix(err error) string { return fault.NewDocument("restart_service", err).Fix }

func TestRestartTellsOfTheJob(t *testing.T) {
	m := mac(map[string]*job{web: up()})
	got, err := do(t, m, services.Options{Name: "com.example.web"})
	want := services.Restarted{
		Label: web, RequestedName: "com.example.web", Message: web + " was restarted and is active (running), main PID 1001.",
		State: services.State{Active: "active", Sub: "running", MainPID: 1001}, TookMS: 10000,
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if n := m.asked("/bin/launchctl kickstart -k " + web); n != 1 {
		t.Errorf("restarted %d times: %q", n, m.calls)
	}
}

// A job that launchd starts again after its throttle may recover, or not.
func TestLivesAfterARestart(t *testing.T) {
	dies := life{time.Second, "last exit code = 78: EX_CONFIG"}
	for name, c := range map[string]struct {
		lives []life
		code  fault.Code
		says  string
		took  int64
	}{
		"recovers":     {[]life{dies, {}}, "", "It died at first: launchd has started it again since (1×).", 20000},
		"dies again":   {[]life{dies}, fault.RestartFailed, "keeps dying: it was seen to die 2 times since the restart (exit status 78), and launchd starts it again and again", 11000},
		"segmentation": {[]life{{0, "last terminating signal = Segmentation fault: 11"}}, fault.RestartFailed, "(SIGSEGV)", 10000},
	} {
		m := mac(map[string]*job{web: with(func(j *job) { j.lives = c.lives })})
		got, err := do(t, m, services.Options{Name: web})
		message := got.Message
		if err != nil {
			message = err.Error()
		}
		if code(err) != c.code || !strings.Contains(message, c.says) || got.TookMS < c.took || got.TookMS > c.took+500 {
			t.Errorf("%s: after %d ms: %s %q %+v", name, got.TookMS, code(err), message, got)
		}
	}
}

func TestRefusalsOfLaunchd(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*fake)
		code   fault.Code
		says   string
		fix    string
	}{
		"not root": {func(m *fake) { m.root = false }, fault.PermissionDenied, "needs root", "sudo sentinel --restart-service " + web},
		"guarded": {func(m *fake) {
			m.jobs[web].refuses = "150: Operation not permitted while System Integrity Protection is engaged"
		}, fault.ProtectedService, "System Integrity Protection lets nobody restart it", "nothing lifts"},
		"since 14.4":  {func(m *fake) { m.jobs[web].refuses = "1: Operation not permitted" }, fault.ProtectedService, "since version 14.4", "nothing lifts"},
		"disabled":    {func(m *fake) { m.jobs[web].refuses = "119: Service is disabled" }, fault.ServiceInactive, "is disabled", "sudo launchctl enable " + web},
		"unsupported": {func(m *fake) { m.jobs[web].refuses = "125: Domain does not support specified action" }, fault.RestartFailed, "launchd does not restart", "launchctl print " + web},
		"error 5":     {func(m *fake) { m.jobs[web].refuses = "5: Input/output error" }, fault.RestartFailed, "launchd does not restart", "launchctl print " + web},
		"no process":  {func(m *fake) { m.jobs[web].refuses = "3: No such process" }, fault.ServiceNotFound, "is not loaded any more", "sudo launchctl list"},
		"odd":         {func(m *fake) { m.jobs[web].refuses = "37: Operation already in progress" }, fault.Unavailable, "launchd cannot be asked", "launchctl list"},
	} {
		m := mac(map[string]*job{web: up()})
		c.change(m)
		got, err := do(t, m, services.Options{Name: web})
		if code(err) != c.code || !strings.Contains(err.Error(), c.says) || !strings.Contains(fix(err), c.fix) || got.Pending || got.State.MainPID != 812 {
			t.Errorf("%s: %v, fix %q, %+v", name, err, fix(err), got)
		}
		if strings.Contains(fix(err)+err.Error(), "systemctl") || strings.Contains(fix(err)+err.Error(), "systemd") {
			t.Errorf("%s speaks of systemd: %v, %q", name, err, fix(err))
		}
	}
}

func TestDomainsOfALabel(t *testing.T) {
	agent := func(file string) *job {
		return with(func(j *job) { j.file, j.pid = "/Users/ana/Library/LaunchAgents/"+file, 950 })
	}
	const gui, user = "gui/501/com.example.web", "user/501/com.example.web"
	for name, c := range map[string]struct {
		jobs  map[string]*job
		asked string
		code  fault.Code
		label string
	}{
		"of the system":      {map[string]*job{web: up()}, "com.example.web", "", web},
		"of the desktop":     {map[string]*job{gui: agent("a.plist")}, "com.example.web", "", gui},
		"of the user":        {map[string]*job{user: agent("a.plist")}, "com.example.web", "", user},
		"seen in both":       {map[string]*job{gui: agent("a.plist"), user: agent("a.plist")}, "com.example.web", "", gui},
		"in two":             {map[string]*job{web: up(), gui: agent("a.plist")}, "com.example.web", fault.InvalidService, ""},
		"in two, one named":  {map[string]*job{web: up(), gui: agent("a.plist")}, gui, "", gui},
		"of somebody else":   {map[string]*job{"gui/502/com.example.web": agent("a.plist")}, "com.example.web", fault.ServiceNotFound, ""},
		"that one by name":   {map[string]*job{"gui/502/com.example.web": agent("a.plist")}, "gui/502/com.example.web", fault.ProtectedService, ""},
		"not in that domain": {map[string]*job{web: up()}, gui, fault.ServiceNotFound, ""},
	} {
		m := mac(c.jobs)
		plan, err := services.PlanRestart(t.Context(), source(t, m), services.Options{Name: c.asked})
		if code(err) != c.code || err == nil && plan.Name() != c.label {
			t.Errorf("%s: %v, %v", name, plan, err)
		}
		if c.code == fault.InvalidService && (!strings.Contains(err.Error(), web+" and "+gui) || !strings.Contains(fix(err), web+" or "+gui)) {
			t.Errorf("%s: %v, %q", name, err, fix(err))
		}
		if m.asked("/bin/launchctl kickstart") > 0 {
			t.Errorf("%s: a plan restarts", name)
		}
	}
}

func TestJobsThatAreMeantToBeOff(t *testing.T) {
	root := testenv.Plant(t, map[string]string{
		"Library/LaunchDaemons/com.example.cold.plist": "", "Library/LaunchDaemons/com.example.off.plist": "", "Library/LaunchAgents/com.example.agent.plist": "",
	})
	m := mac(map[string]*job{"system/homebrew.mxcl.nginx": up()})
	m.disabled = map[string][]string{"system": {"com.example.off", "com.openssh.example"}}
	s := source(t, m)
	s.Root = root
	for asked, want := range map[string]struct {
		code fault.Code
		says string
		fix  string
	}{
		"com.example.cold":         {fault.ServiceInactive, "system/com.example.cold is installed but not loaded", "sudo launchctl bootstrap system /Library/LaunchDaemons/com.example.cold.plist"},
		"com.example.off":          {fault.ServiceInactive, "system/com.example.off is disabled", "sudo launchctl enable system/com.example.off; then sudo launchctl bootstrap system /Library/"},
		"com.openssh.example":      {fault.ServiceInactive, "is disabled", "sudo launchctl enable system/com.openssh.example"},
		"com.example.agent":        {fault.ServiceInactive, "gui/501/com.example.agent is installed but not loaded", "bootstrap gui/501 /Library/LaunchAgents/com.example.agent.plist"},
		"system/com.example.agent": {fault.ServiceNotFound, "There is no service system/com.example.agent.", "com.example.agent"},
		"nginx":                    {fault.ServiceNotFound, "There is no service nginx.", "Did you mean homebrew.mxcl.nginx?"},
		"com.example.colt":         {fault.ServiceNotFound, "There is no service", "Did you mean com.example.cold"},
		"entirely.else":            {fault.ServiceNotFound, "There is no service", "sudo launchctl list"},
	} {
		_, err := services.PlanRestart(t.Context(), s, services.Options{Name: asked, Force: true})
		if code(err) != want.code || !strings.Contains(err.Error(), want.says) || !strings.Contains(fix(err), want.fix) {
			t.Errorf("%s: %v, fix %q", asked, err, fix(err))
		}
	}
}

func TestWhoCallsIsNotRestarted(t *testing.T) {
	for name, c := range map[string]struct {
		job    *job
		code   fault.Code
		forced fault.Code
	}{
		"is the call":     {with(func(j *job) { j.pid = 900 }), fault.ProtectedService, fault.ProtectedService},
		"is its ancestor": {with(func(j *job) { j.pid = 700 }), fault.ProtectedService, ""},
		"is something":    {up(), "", ""},
		"ends the system": {with(func(j *job) { j.program = "/sbin/shutdown" }), fault.ProtectedService, fault.ProtectedService},
	} {
		for _, force := range []bool{false, true} {
			want := c.code
			if force {
				want = c.forced
			}
			if _, err := services.PlanRestart(t.Context(), source(t, mac(map[string]*job{web: c.job})), services.Options{Name: web, Force: force}); code(err) != want {
				t.Errorf("%s, force %v: %v", name, force, err)
			}
		}
	}
	for name, ps := range map[string]string{"nothing": "", "others": strings.ReplaceAll(listing, "  900 ", "  901 ")} {
		m := mac(map[string]*job{web: up()})
		m.ps = ps
		if _, err := services.PlanRestart(t.Context(), source(t, m), services.Options{Name: web}); code(err) != fault.Unavailable {
			t.Errorf("ps lists %s: %v", name, err)
		}
	}
}

// Whoever reaches root without a person behind it may mean anybody's job; a person
// has to be at the machine for those of others.
func TestJobsOfOthers(t *testing.T) {
	const other = "gui/502/com.example.web"
	s := source(t, mac(map[string]*job{other: up()}))
	if _, err := services.PlanRestart(t.Context(), s, services.Options{Name: other}); code(err) != fault.ProtectedService || !strings.Contains(err.Error(), "another person") || !strings.Contains(fix(err), "--force") {
		t.Errorf("%v, %q", err, fix(err))
	}
	if _, err := services.PlanRestart(t.Context(), s, services.Options{Name: other, Force: true}); err != nil {
		t.Errorf("forced: %v", err)
	}
	s.User = 0
	if _, err := services.PlanRestart(t.Context(), s, services.Options{Name: other}); err != nil {
		t.Errorf("root: %v", err)
	}
}

func TestMachinesThatCannotBeAsked(t *testing.T) {
	const argv = "argv: /bin/launchctl print " + web + "\n"
	for name, c := range map[string]struct {
		print string
		code  fault.Code
		says  string
	}{
		"missing":   {"error: missing\n", fault.Unavailable, "launchd cannot be asked"},
		"hanging":   {"error: hang\n", fault.Unavailable, "launchd cannot be asked"},
		"flooding":  {"error: flood\n", fault.Unavailable, "output limit"},
		"silent":    {"exit: 0\n", fault.Unavailable, "printed no job"},
		"cut":       {"exit: 0\n-- stdout --\n" + web + " = {\n\tstate = running\n\tpid = 812\n", fault.Unavailable, "no end"},
		"localised": {"exit: 0\n-- stdout --\nsystème = [\n", fault.Unavailable, "printed no job"},
		"denied":    {"exit: 1\n-- stderr --\nCould not print service: 1: Operation not permitted\n", fault.PermissionDenied, "needs root"},
		"crashing":  {"exit: 139\n", fault.Unavailable, "status 139"},
	} {
		m, err := replay.OpenMachine(testenv.Plant(t, map[string]string{"print.txtar": argv + c.print}))
		if err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			s := Services{Runner: m, EUID: 501, PID: 900, Now: time.Now}
			if _, err := services.PlanRestart(t.Context(), s, services.Options{Name: web}); code(err) != c.code || !strings.Contains(err.Error(), c.says) || fix(err) == "" {
				t.Errorf("%s: %v, %q", name, err, fix(err))
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("%s: after %v", name, took)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := services.PlanRestart(ctx, source(t, mac(nil)), services.Options{Name: web}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// A cancel while the job is being restarted leaves that to launchd.
func TestCancelledRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mac(map[string]*job{web: with(func(j *job) { j.stops = 20 * time.Second })})
		plan, err := services.PlanRestart(t.Context(), source(t, m), services.Options{Name: web})
		if err != nil {
			t.Fatal(err)
		}
		defer plan.Close()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		if got, err := plan.Do(ctx); !errors.Is(err, context.Canceled) || !got.Pending || time.Since(began) != time.Second {
			t.Errorf("after %v: %+v, %v", time.Since(began), got, err)
		}
		<-time.After(time.Minute)
		m.mu.Lock()
		defer m.mu.Unlock()
		if j := m.jobs[web]; j.runs != 4 || j.pid != 1001 {
			t.Errorf("%+v", j)
		}
	})
}

func TestInvokingUser(t *testing.T) {
	for _, c := range []struct {
		euid int
		uid  string
		want int
	}{{0, "501", 501}, {0, "", 0}, {0, "-2", 0}, {0, "0", 0}, {0, "501;", 0}, {502, "501", 502}} {
		if got := InvokingUser(c.euid, func(string) string { return c.uid }); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

func TestLog(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 40, 0, time.UTC)
	since := now.Add(-30 * time.Second)
	raw := strings.Join([]string{
		logged("2026-03-04 05:06:00.000000+0000", "/usr/local/bin/web", 1, "of the run before"),
		logged("2026-03-04 06:06:11.890000+0100", "/usr/local/bin/web", 812, "cannot open port\n\tit is taken"),
		logged("2026-03-04 05:06:12.000000+0000", "/sbin/launchd", 1, "[system/com.example.web [812]:] exited due to exit(3)"),
		"no entry",
		logged("2026-03-04 05:06:13.000000+0000", "/usr/local/bin/web", 813, ""),
		logged("2026-03-04 01:06:13.000000+0000", "/usr/local/bin/web", 813, "before the clock was set"),
		`{"count":5,"finished":1}`,
	}, "\n")
	want := []string{
		"web[812] cannot open port it is taken", "launchd[1] [system/com.example.web [812]:] exited due to exit(3)", "web[813]", "web[813] before the clock was set",
	}
	got, read := parseLog([]byte(raw), "/usr/local/bin/web", since, now)
	if diff := cmp.Diff(want, texts(got)); diff != "" || !read {
		t.Fatal(read, diff)
	}
	if at := got[1].At; !at.Equal(time.Date(2026, 3, 4, 5, 6, 12, 0, time.UTC)) || !got[3].At.IsZero() {
		t.Errorf("an entry is of %v, one of %v", at, got[3].At)
	}
	for raw, want := range map[string]bool{"log: Cannot run while sandboxed\n": false, "": false, "{}\n": false, `{"count":0,"finished":1}`: true} {
		if got, read := parseLog([]byte(raw), "", since, now); len(got) != 0 || read != want {
			t.Errorf("%q: %+v, %v", raw, got, read)
		}
	}
	for _, c := range []struct{ program, want string }{
		{"/usr/local/bin/web", `(process == "launchd" AND eventMessage CONTAINS "com.example.web") OR process == "web"`},
		{`/opt/a" OR TRUEPREDICATE OR "`, `(process == "launchd" AND eventMessage CONTAINS "com.example.web")`},
		{"", `(process == "launchd" AND eventMessage CONTAINS "com.example.web")`},
	} {
		if got := predicate(web, c.program); got != c.want {
			t.Errorf("%q: %s", c.program, got)
		}
	}
}

// logged is an entry as log(1) prints it.
func logged(at, program string, pid int, text string) string {
	return fmt.Sprintf(`{"eventMessage":%q,"processImagePath":%q,"timestamp":%q,"messageType":"Error","processID":%d}`, text, program, at, pid)
}

// What a program logs is one entry, whatever it looks like, and a program that only has the name of
// the job's, or of launchd, is told by its path.
func TestALineOfTheLogForgesNoOther(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 40, 0, time.UTC)
	const stamp = "2026-03-04 05:06:12.000000+0000"
	raw := logged(stamp, "/Users/eve/web", 66, "x\n2026-03-04 05:06:13.000 E  web[812:1f3a] port 80 is taken") + "\n" + logged(stamp, "/Users/eve/launchd", 67, "exited")
	got, _ := parseLog([]byte(raw), "/usr/local/bin/web", time.Time{}, now)
	want := []string{"/Users/eve/web[66] x 2026-03-04 05:06:13.000 E web[812:1f3a] port 80 is taken", "/Users/eve/launchd[67] exited"}
	if diff := cmp.Diff(want, texts(got)); diff != "" {
		t.Error(diff)
	}
	own, _ := parseLog([]byte(logged(stamp, "/usr/local/bin/web", 812, "x")+"\n"+logged(stamp, "/sbin/launchd", 1, "x")), "/usr/local/bin/web", time.Time{}, now)
	if !got[0].Foreign || !got[1].Foreign || own[0].Foreign || own[1].Foreign {
		t.Errorf("whose lines these are: %+v, %+v", got, own)
	}
}

func texts(lines []services.LogLine) []string {
	var list []string
	for _, line := range lines {
		list = append(list, line.Text)
	}
	return list
}

func TestRecordedLogs(t *testing.T) {
	for _, out := range testenv.RecordedOutputs(t, "log") {
		if got, _ := parseLog(out.Raw, "", time.Time{}, time.Now()); len(got) != 0 {
			t.Errorf("%s: %+v", out.Name, got)
		}
	}
}

func TestLogThatCannotBeReadIsLeftOut(t *testing.T) {
	m := mac(map[string]*job{web: with(func(j *job) { j.keep, j.lives = false, []life{{0, "last exit code = 3"}} })})
	m.logFails = true
	got, err := do(t, m, services.Options{Name: web})
	if code(err) != fault.RestartFailed || len(got.Log) != 0 || !strings.Contains(fix(err), "log show --last 5m") {
		t.Errorf("%+v, %v, %q", got, err, fix(err))
	}
}

func FuzzLog(f *testing.F) {
	f.Add(logged("2026-03-04 05:06:11.890000+0000", "/usr/local/bin/web", 812, "x\n y"))
	f.Fuzz(func(t *testing.T, raw string) {
		got, _ := parseLog([]byte(raw), "", time.Time{}, time.Unix(0, 0))
		for _, text := range texts(got) {
			if text == "" || strings.Contains(text, "\n") || strings.TrimSpace(text) != text {
				t.Errorf("%q", text)
			}
		}
	})
}

func TestPolicies(t *testing.T) {
	m := mac(map[string]*job{web: up(), "system/com.example.once": with(func(j *job) { j.keep, j.pid = false, 0 })})
	for label, want := range map[string]processes.RestartPolicy{
		"com.example.web":  {MainPID: 812, OnTerm: processes.ComesBack, OnKill: processes.ComesBack, Cause: "(KeepAlive)"},
		"com.example.once": {OnTerm: processes.StaysAway, OnKill: processes.StaysAway, Cause: "(KeepAlive)"},
	} {
		if got, err := RestartPolicy(t.Context(), m, label); got != want || err != nil {
			t.Errorf("%s: %+v, %v", label, got, err)
		}
	}
	if got, err := RestartPolicy(t.Context(), m, "com.example.none"); err == nil {
		t.Errorf("%+v", got)
	}
	for pid, want := range map[int]processes.Unit{812: {
		Name: "com.example.web", Service: true, RestartName: "system/com.example.web", StopCommand: "sudo launchctl bootout system/com.example.web",
	}, 813: {}} {
		if got, err := Of(t.Context(), m, pid, true); got != want || err != nil {
			t.Errorf("%d: %+v, %v", pid, got, err)
		}
	}
	if got, err := Of(t.Context(), m, 812, false); !got.User || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
}
