// SPDX-License-Identifier: Apache-2.0

//go:build linux

package services

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"sentinel/internal/fault"
	"sentinel/internal/services"
	"sentinel/internal/services/servicestest"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

const (
	sleeps     = "[Service]\nExecStart=/bin/sleep infinity\n"
	install    = "[Install]\nWantedBy=multi-user.target\n"
	startLimit = "[Unit]\nStartLimitIntervalSec=1h\nStartLimitBurst=2\n[Service]\n"
)

// shell makes a service of a script.
func shell(script, more string) string {
	return "[Service]\n" + more + "ExecStart=/bin/sh -c '" + script + "'\n"
}

// secondLife runs the script from its second start on.
func secondLife(script string) string {
	return shell("test -e /run/%n || { touch /run/%n; exec sleep infinity; }; "+script, "")
}

var inContainer = map[string]string{
	"good.service":      sleeps + install,
	"notify.service":    "[Service]\nType=notify\nNotifyAccess=all\nExecStart=/bin/sh -c 'systemd-notify --ready; exec sleep infinity'\n",
	"forks.service":     "[Service]\nType=forking\nExecStart=/bin/sh -c 'sleep infinity & exit 0'\n",
	"once.service":      "[Service]\nType=oneshot\nExecStart=/bin/true\n" + install,
	"stays.service":     "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\n",
	"task.service":      "[Service]\nExecStart=/bin/true\n" + install,
	"crash.service":     secondLife("echo cannot open port; exit 3"),
	"later.service":     secondLife("sleep 1; exit 4"),
	"ends.service":      secondLife("exit 0"),
	"signal.service":    secondLife("kill -KILL $$$$"),
	"loop.service":      secondLife("sleep 1; exit 5") + "Restart=always\nRestartSec=100ms\n",
	"limit.service":     secondLife("exit 6") + "Restart=always\nRestartSec=100ms\n",
	"limited.service":   "[Unit]\nStartLimitIntervalSec=1h\n" + secondLife("exit 6"),
	"tight.service":     "[Unit]\nRequires=tool.service\nAfter=tool.service\n" + startLimit + "ExecStart=/bin/sh -c 'trap \"exit 143\" TERM; sleep infinity & wait'\n",
	"part.service":      "[Unit]\nPartOf=tight.service\n" + startLimit + "ExecStart=/bin/sleep infinity\n",
	"tool.service":      startLimit + "Type=oneshot\nExecStart=/bin/true\n",
	"waits.service":     secondLife("exit 7") + "Restart=always\nRestartSec=1h\n",
	"recovers.service":  shell("n=$$(cat /run/%n 2>/dev/null || echo 0); echo $$((n+1)) >/run/%n; test $$n = 1 && exit 9; exec sleep infinity", "Restart=always\nRestartSec=100ms\n"),
	"oncefails.service": "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'exit 8'\n" + install,
	"ignores.service":   "[Service]\nTimeoutStopSec=4s\nExecStart=/bin/sh -c 'trap \"\" TERM; while :; do sleep 1; done'\n",
	"hangs.service":     "[Service]\nTimeoutStopSec=90s\nExecStart=/bin/sh -c 'trap \"\" TERM; while :; do sleep 1; done'\n",
	"real.service":      sleeps + install + "Alias=other.service\n",
	"many@.service":     "[Service]\nExecStart=/bin/sh -c 'exec sleep infinity # %i'\n" + install,
	"static.service":    sleeps,
	"off.service":       sleeps + install,
	"wanted.service":    sleeps + install,
	"byhand.service":    "[Unit]\nRefuseManualStop=yes\n" + sleeps,
	"nostart.service":   "[Unit]\nRefuseManualStart=yes\n" + sleeps,
	"needed.service":    "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'test ! -e /run/broken'\n",
	"needs.service":     "[Unit]\nRequires=needed.service\nAfter=needed.service\n" + sleeps,
	"unmet.service":     "[Unit]\nConditionPathExists=!/run/unmet\n" + sleeps + install,
	"bad.service":       "[Service]\nType=simple\n" + install,
	"hostile.service":   shell("test -e /run/%n || { touch /run/%n; exec sleep infinity; }; printf \"\\\\033[2Jpassword=hunter2 \\\\342\\\\200\\\\256\\\\n\" >&2; exit 3", ""),

	"endsall.service":   "[Unit]\nWants=poweroff.target\n" + sleeps + install,
	"chain.service":     "[Unit]\nWants=chain.target\n" + sleeps + install,
	"chain.target":      "[Unit]\nRequires=reboot.target\n",
	"onfailure.service": "[Unit]\nOnFailure=emergency.target\n" + sleeps + install,
	"isolates.service":  "[Unit]\nOnFailure=multi-user.target\nOnFailureJobMode=isolate\n" + sleeps + install,
	"action.service":    "[Unit]\nFailureAction=reboot\n" + sleeps + install,
	"command.service":   "[Service]\nType=oneshot\nExecStart=/usr/bin/systemctl --no-block isolate rescue.target\n" + install,
	"conflicts.service": "[Unit]\nConflicts=basic.target\n" + sleeps + install,
	"silences.service":  "[Unit]\nConflicts=ssh.service\n" + sleeps + install,
	"carries.service":   sleeps,
	"ssh.service":       "[Unit]\nRequires=carries.service carries.socket\n[Service]\nExecStart=/bin/sleep infinity\n[Install]\nAlias=sshd.service\n",
	"holds.service":     "[Unit]\nBefore=basic.target\nDefaultDependencies=no\n" + sleeps + "[Install]\nRequiredBy=basic.target\n",
	"passes.service":    sleeps,
	"carries.socket":    "[Unit]\nBindsTo=passes.service\n[Socket]\nListenStream=/run/carries\n",
	"pulls.service":     "[Unit]\nWants=pulled.target\n" + sleeps + install,
	"pulled.target":     "[Unit]\nConflicts=ssh.service\n",
	"mine.service":      sleeps,
	"shop-1.service":    sleeps,
}

func restart(ctx context.Context, t *testing.T, o services.Options) (services.Restarted, error) {
	t.Helper()
	o.Settle = 2500 * time.Millisecond // how long it really is does not matter to a real systemd
	plan, err := services.PlanRestart(ctx, NewServices("/", sysexec.Host{}), o)
	if err != nil {
		return services.Restarted{}, err
	}
	defer plan.Close()
	if plan.Summary() == "" {
		t.Error("no summary")
	}
	return plan.Do(ctx)
}

// code returns the code of a failure, or "" without one.
func code(err error) fault.Code {
	if err == nil {
		return ""
	}
	return fault.From(err).Code
}

type outcome struct {
	name    string
	before  []string // arguments of systemctl; "touch FILE", "await FILE"
	code    fault.Code
	message string // part of it
	state   string // active and result, some of them after a bar
}

// prepare does what comes before the restart.
func prepare(t *testing.T, steps []string) {
	t.Helper()
	for _, step := range steps {
		what, file, _ := strings.Cut(step, " ")
		switch what {
		case "touch":
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		case "await":
			testenv.WaitFor(t, file, func() bool { _, err := os.Stat(file); return err == nil })
		default:
			testenv.Systemctl(t, true, step)
		}
	}
}

func (c outcome) check(t *testing.T) {
	prepare(t, c.before)
	began := time.Now()
	got, err := restart(t.Context(), t, services.Options{Name: c.name})
	message := got.Message
	if err != nil {
		message = err.Error()
	}
	t.Logf("%v: %q %+v", time.Since(began).Round(time.Millisecond), message, got)
	state := got.State.Active + " " + got.State.Result
	if code(err) != c.code || !strings.Contains(message, c.message) || !slices.Contains(strings.Split(c.state, "|"), strings.TrimSpace(state)) {
		t.Errorf("got %s %q %s, want %s %q %s", code(err), message, state, c.code, c.message, c.state)
	}
	if wantLog := c.code == fault.RestartFailed; (len(got.Log) > 0) != wantLog || len(got.Log) > 10 || got.Pending {
		t.Errorf("pending %v, log %q", got.Pending, got.Log)
	}
	if strings.Contains(fmt.Sprint(got), "hunter2") || strings.ContainsAny(fmt.Sprint(got), "\x1b\u202e") {
		t.Errorf("hostile: %+v", got)
	}
}

func TestRestartsOfABootedSystem(t *testing.T) {
	if !testenv.Booted(t, inContainer) {
		return
	}
	testenv.Systemctl(t, true, "enable --quiet real.service wanted.service once.service task.service oncefails.service many@a.service unmet.service")
	t.Cleanup(func() { testenv.Systemctl(t, true, "kill --signal=KILL ignores") }) // or the end of the container waits for it
	const failed, running = fault.RestartFailed, "active (running)"
	for _, c := range []outcome{
		{"good", []string{"start good"}, "", running, "active"},
		{"notify", []string{"start notify"}, "", running, "active"},
		{"forks", []string{"start forks"}, "", running, "active"},
		{"once", nil, "", "ended with success", "inactive"},
		{"task", nil, "", "ended with success", "inactive"},
		{"stays", []string{"start stays"}, "", "its work is done", "active"},
		{"wanted", nil, "", running, "active"},
		{"other", []string{"start real"}, "", "real.service was restarted", "active"},
		{"many@a.service", nil, "", "many@a.service was restarted", "active"},
		{"many@c", []string{"start many@c"}, "", "many@c.service was restarted", "active"},
		{"recovers", []string{"start recovers", "await /run/recovers.service"}, "", "It died at first", "active"},
		{"crash", []string{"start crash", "await /run/crash.service"}, failed, "exit status 3", "failed exit-code"},
		{"later", []string{"start later", "await /run/later.service"}, failed, "exit status 4", "failed exit-code"},
		{"ends", []string{"start ends", "await /run/ends.service"}, failed, "it ended by itself", "inactive"},
		{"signal", []string{"start signal", "await /run/signal.service"}, failed, "SIGKILL", "failed signal"},
		{"hostile", []string{"start hostile", "await /run/hostile.service"}, failed, "exit status 3", "failed exit-code"},
		{"loop", []string{"start loop", "await /run/loop.service"}, failed, "keeps dying", "active|activating|activating exit-code"},
		{"limit", []string{"start limit", "await /run/limit.service"}, failed, "times since the restart (exit status 6), and systemd has given it up", "failed exit-code"},
		{"waits", []string{"start waits", "await /run/waits.service"}, failed, "waits to start it again", "activating exit-code"},
		{"oncefails", nil, failed, "exit status 8", "failed exit-code"},
		{"needs", []string{"start needs", "touch /run/broken"}, failed, "(needed.service)", "inactive"},
		{"unmet", []string{"start unmet", "touch /run/unmet"}, failed, "condition", "inactive"},
		{"ignores", []string{"start ignores"}, "", running, "active"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.check(t)
		})
	}
	t.Run("limited", func(t *testing.T) {
		t.Parallel()
		prepare(t, []string{"start limited", "await /run/limited.service"})
		for range 5 {
			if out, err := exec.Command("systemctl", "restart", "limited").CombinedOutput(); err != nil {
				t.Logf("%s", out)
			}
			testenv.WaitFor(t, "the service has failed", func() bool {
				return exec.Command("systemctl", "--quiet", "is-failed", "limited").Run() == nil
			})
		}
		outcome{"limited", nil, failed, "died right after the restart (exit status 6)", "failed exit-code"}.check(t)
	})
	// systemd keeps a failed unit that no file has, or another form of, for its failure alone.
	const once = `sh -c "test -e /run/$1 && exec sleep infinity; touch /run/$1; exit 3"`
	for name, start := range map[string]string{
		"transient": "systemd-run --quiet --unit=$1 " + once,
		"removed":   `f=/run/systemd/system/$1.service; mkdir -p ${f%/*}; printf "[Service]\nExecStart=%s\n" '` + strings.ReplaceAll(once, "$1", "removed") + `' >$f; systemctl start $1; rm $f`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if out, err := exec.Command("sh", "-c", start, "sh", name).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			testenv.WaitFor(t, "the service has failed", func() bool { return exec.Command("systemctl", "--quiet", "is-failed", name).Run() == nil })
			outcome{name, nil, "", running, "active"}.check(t)
		})
	}
	// systemd refuses a start too many, also that of what goes with a service, when it has stopped the service.
	t.Run("tight", func(t *testing.T) {
		t.Parallel()
		prepare(t, []string{"start tight part"})
		for range 3 {
			outcome{"tight", nil, "", running, "active"}.check(t)
			if got := show(t, "ActiveState", "part"); got != "active" {
				t.Errorf("what is part of it is %s", got)
			}
		}
	})
}

// situations are the services of the contract, and the steps before each.
var situations = map[string]outcome{
	"stays up":                      {"good", []string{"start good"}, "", "", ""},
	"is off and wanted":             {"wanted", []string{"enable --quiet wanted.service"}, "", "", ""},
	"takes a while to stop":         {"ignores", []string{"start ignores"}, "", "", ""},
	"does its work while it is off": {"once", []string{"enable --quiet once.service"}, "", "", ""},
	"dies with status 3":            {"crash", []string{"start crash", "await /run/crash.service"}, "", "", ""},
	"dies by SIGKILL":               {"signal", []string{"start signal", "await /run/signal.service"}, "", "", ""},
	"ends with success":             {"ends", []string{"start ends", "await /run/ends.service"}, "", "", ""},
	"keeps dying":                   {"loop", []string{"start loop", "await /run/loop.service"}, "", "", ""},
	"does not stop":                 {"hangs", []string{"start hangs"}, "", "", ""},
	"is off and not wanted":         {"off", nil, "", "", ""},
	"is not there":                  {"sho-1", nil, "", "", ""},
}

func TestContractOfABootedSystem(t *testing.T) {
	if !testenv.Booted(t, inContainer) {
		return
	}
	t.Cleanup(func() { kill(t, "ignores hangs") })
	for _, s := range servicestest.Situations() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			prepare(t, situations[s.Name].before)
			s.Check(t, NewServices("/", sysexec.Host{}), situations[s.Name].name)
		})
	}
}

// plan only plans, so that a rule that fails does not end the container.
func plan(t *testing.T, o services.Options) (summary string, err error) {
	t.Helper()
	p, err := services.PlanRestart(t.Context(), NewServices("/", sysexec.Host{}), o)
	if err != nil {
		return "", err
	}
	defer p.Close()
	return p.Summary(), nil
}

func TestRefusalsOfABootedSystem(t *testing.T) {
	if !testenv.Booted(t, inContainer) {
		return
	}
	prepare(t, []string{
		"enable --quiet endsall.service chain.service onfailure.service isolates.service action.service command.service conflicts.service silences.service pulls.service bad.service holds.service many@a.service",
		"mask --quiet fstrim.service", "start basic.target ssh carries passes carries.socket systemd-logind holds getty@tty1",
	})
	const protected, inactive = fault.ProtectedService, fault.ServiceInactive
	for _, c := range []struct {
		name    string
		code    fault.Code
		message string
		forced  fault.Code
	}{
		{"off", inactive, "not enabled (disabled)", inactive},
		{"static", inactive, "not enabled (static)", inactive},
		{"many@b", inactive, "not enabled", inactive},
		{"many@a", "", "would be restarted", ""},
		{"many@", fault.InvalidService, "template", fault.InvalidService},
		{"fstrim", fault.ServiceMasked, "masked", fault.ServiceMasked},
		{"bad", fault.RestartFailed, "bad-setting", fault.RestartFailed},
		{"sho-1", fault.ServiceNotFound, "no service sho-1.service", fault.ServiceNotFound},
		{"byhand", protected, "by hand", protected},
		{"nostart", protected, "by hand", protected},
		{"debug-shell", protected, "shell of root", protected},
		{"poweroff.target", protected, "state of the system", protected},
		{"poweroff", protected, "ends the system", protected},
		{"systemd-poweroff", protected, "part of the service manager", protected},
		{"systemd-journald", protected, "part of the service manager", protected},
		{"user@0", protected, "session of a person", protected},
		{"rescue", protected, "ends the system", protected},
		{"dbus", protected, "session", ""},
		{"systemd-logind", protected, "session", ""},
		{"dbus-org.freedesktop.login1", protected, "systemd-logind.service is protected", ""},
		{"ssh", protected, "session", ""},
		{"carries", protected, "restarts ssh.service as well", ""},
		{"passes", protected, "restarts ssh.service as well", ""},
		{"pulls", protected, "stops ssh.service as well", ""},
		{"silences", protected, "stops ssh.service", ""},
		{"conflicts", protected, "stops basic.target", protected},
		{"holds", protected, "restarts basic.target as well", protected},
		{"endsall", protected, "poweroff.target", protected},
		{"chain", protected, "reboot.target", protected},
		{"onfailure", protected, "emergency.target", protected},
		{"isolates", protected, "when isolates.service ends or fails, systemd may stop all but multi-user.target on the system", protected},
		{"action", protected, "systemd may reboot the system", protected},
		{"command", protected, "isolate rescue.target", protected},
		{"inside", protected, "this very call runs in it", protected},
		{"-.mount", fault.InvalidService, "mount", fault.InvalidService},
		{"../x", fault.InvalidService, "begins with", fault.InvalidService},
	} {
		for _, force := range []bool{false, true} {
			want, part := c.code, c.message
			if force {
				want, part = c.forced, ""
			}
			summary, err := plan(t, services.Options{Name: c.name, Force: force})
			if err != nil {
				summary = err.Error()
			}
			if code(err) != want || !strings.Contains(summary, part) {
				t.Errorf("%s, force %v: %s %q, want %s %q", c.name, force, code(err), summary, want, c.message)
			}
		}
	}
	if _, err := plan(t, services.Options{Name: "sho-1"}); !strings.Contains(fault.NewDocument("", err).Fix, "shop-1.service") {
		t.Errorf("no near name: %v", fault.NewDocument("", err).Fix)
	}
	if _, err := services.PlanRestart(t.Context(), NewServices(t.TempDir(), sysexec.Host{}), services.Options{Name: "polkit"}); code(err) != fault.Unsupported {
		t.Errorf("a tree that is not live is answered for by this machine: %v", err)
	}
	if _, err := plan(t, services.Options{Name: "carries", Force: true, Protected: []string{"carr*"}}); err != nil {
		t.Errorf("configured and forced: %v", err)
	}
}

func TestRestartInTheControlGroupOfTheService(t *testing.T) {
	if !testenv.Booted(t, inContainer) {
		return
	}
	testenv.Systemctl(t, true, "start mine")
	group := "/sys/fs/cgroup/system.slice/mine.service/cgroup.procs"
	if err := os.WriteFile(group, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := plan(t, services.Options{Name: "mine", Force: true}); code(err) != fault.ProtectedService || !strings.Contains(err.Error(), "this very call") {
		t.Errorf("%v", err)
	}
}

// limits of time are tested with a service that ignores SIGTERM.
func TestRestartThatDoesNotSettle(t *testing.T) {
	if !testenv.Booted(t, inContainer) {
		return
	}
	testenv.Systemctl(t, true, "start hangs")
	t.Cleanup(func() { kill(t, "hangs") })
	testenv.HangGuard(t)
	got, err := restart(t.Context(), t, services.Options{Name: "hangs", Limit: 2 * time.Second})
	if code(err) != fault.Timeout || !got.Pending || got.State.Active != "deactivating" || len(got.Log) == 0 {
		t.Errorf("%v %+v", err, got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(500*time.Millisecond, cancel)
	got, err = restart(ctx, t, services.Options{Name: "hangs"})
	if !errors.Is(err, context.Canceled) || !got.Pending {
		t.Errorf("cancelled: %v %+v", err, got)
	}
	before := mainPID(t, "hangs")
	if got, err := restart(ctx, t, services.Options{Name: "hangs"}); !errors.Is(err, context.Canceled) || got.Pending {
		t.Errorf("cancelled before: %v %+v", err, got)
	}
	if out, err := exec.Command("systemctl", "kill", "--signal=KILL", "hangs").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	testenv.WaitFor(t, "another process", func() bool { now := mainPID(t, "hangs"); return now != before && now != "0" }) // the job went on
}

// kill ends services that ignore SIGTERM, for which the machine would wait 90 seconds at its end. A restart that still
// waits would start them again.
func kill(t *testing.T, names string) {
	t.Helper()
	testenv.Systemctl(t, true, "stop --no-block "+names)
	testenv.Systemctl(t, true, "kill --signal=KILL "+names)
}

func mainPID(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("systemctl", "show", "--value", "--property=MainPID", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func TestRestartOfAServiceWhoseFileHasChanged(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	const file = "/etc/systemd/system/edited.service"
	if err := os.WriteFile(file, []byte(sleeps), 0o600); err != nil {
		t.Fatal(err)
	}
	prepare(t, []string{"daemon-reload", "start edited"})
	if err := os.Chtimes(file, time.Time{}, time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	summary, err := plan(t, services.Options{Name: "edited"})
	if err != nil || !strings.Contains(summary, "would be restarted. Its unit file has changed") {
		t.Errorf("%q, %v", summary, err)
	}
	if got, err := restart(t.Context(), t, services.Options{Name: "edited"}); err != nil || !strings.Contains(got.Message, "daemon-reload") {
		t.Errorf("%+v, %v", got, err)
	}
}

// The mark of a failure is all that tells of it. Where no limit of starts can be reached, it is let alone.
func TestARestartThatSystemdRejectsLeavesTheMarkOfAFailure(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile("/etc/systemd/system/"+name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const unlimited = "[Unit]\nStartLimitIntervalSec=0\n"
	const fails = "[Service]\nExecStart=/bin/false\n" + install
	write("failing.service", unlimited+fails)
	prepare(t, []string{"daemon-reload", "enable --quiet failing.service", "start failing"})
	testenv.WaitFor(t, "the service has failed", func() bool { return exec.Command("systemctl", "--quiet", "is-failed", "failing").Run() == nil })
	write("failing.service", unlimited+"Requires=loop.service\nAfter=loop.service\n"+fails)
	write("loop.service", "[Unit]\nRequires=failing.service\nAfter=failing.service\n"+sleeps)
	prepare(t, []string{"daemon-reload"})
	if _, err := restart(t.Context(), t, services.Options{Name: "failing"}); code(err) != fault.RestartFailed || !errors.Is(err, services.ErrRejected) {
		t.Errorf("%v", err)
	}
	if state := show(t, "ActiveState", "failing"); state != "failed" {
		t.Errorf("it is %s", state)
	}
}

// A user other than root goes over the bus: the plan is the same, the restart is
// not allowed.
func TestRestartByOthers(t *testing.T) {
	if !testenv.Booted(t, map[string]string{"good.service": sleeps}) {
		return
	}
	testenv.Systemctl(t, true, "start good")
	testenv.Become(t, testenv.Nobody)
	if summary, err := plan(t, services.Options{Name: "good"}); err != nil || !strings.Contains(summary, "good.service (active, running, main PID ") {
		t.Errorf("%q, %v", summary, err)
	}
	if got, err := restart(t.Context(), t, services.Options{Name: "good"}); code(err) != fault.PermissionDenied || got.Pending {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestRestartWithoutTheBus(t *testing.T) {
	if !testenv.Booted(t, map[string]string{"good.service": sleeps}) {
		return
	}
	testenv.Systemctl(t, true, "start good")
	testenv.Systemctl(t, true, "stop dbus.socket dbus.service")
	if got, err := restart(t.Context(), t, services.Options{Name: "good"}); err != nil || got.State.MainPID == 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// Without the private socket, systemd is asked over the bus.
func TestRestartOverTheBus(t *testing.T) {
	if !testenv.Booted(t, map[string]string{"good.service": sleeps}) {
		return
	}
	prepare(t, []string{"start dbus good"})
	before := mainPID(t, "good")
	if err := os.Remove("/run/systemd/private"); err != nil {
		t.Fatal(err)
	}
	got, err := restart(t.Context(), t, services.Options{Name: "good", Limit: 10 * time.Second})
	if err != nil || strconv.Itoa(got.State.MainPID) == before {
		t.Errorf("%+v, %v", got, err)
	}
}

// A package added to the container needs an entry here: may its services be restarted with force?
func TestFewServicesOfDebianAreRestartedByForce(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	prepare(t, []string{"start multi-user.target"})
	m, err := NewServices("/", sysexec.Host{}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	names, err := m.Names(t.Context())
	if err != nil || len(names) < 80 {
		t.Fatalf("%d names, %v", len(names), err)
	}
	allowed := []string{
		"console-getty.service", "dbus.service", "e2scrub_reap.service", "firewalld.service", "getty@tty1.service", "polkit.service", "ssh.service",
		"systemd-logind.service", "ufw.service",
		"apache2.service", "haproxy.service", "named.service", "nginx.service",
	}
	for _, name := range names {
		p, err := services.PlanRestart(t.Context(), NewServices("/", sysexec.Host{}), services.Options{Name: name, Force: true})
		if err != nil {
			continue
		}
		p.Close()
		if !slices.Contains(allowed, p.Name()) {
			t.Errorf("%s: %s", name, p.Summary())
		}
	}
	if _, err := plan(t, services.Options{Name: "polkit"}); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"firewalld", "ufw"} {
		if _, err := plan(t, services.Options{Name: name}); fault.From(err).Code != fault.ProtectedService {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMachineWithoutSystemdNamesWhatRunsItsServices(t *testing.T) {
	for mark, want := range map[string]string{"etc/x": "sudo service nginx restart", "run/openrc/softlevel": "sudo rc-service nginx restart", "run/runit/supervise.sshd/pid": "sudo sv restart nginx", "run/runit/supervise/sshd/": "sudo sv restart nginx", "run/runit/x": "sudo service nginx restart"} {
		_, err := services.PlanRestart(t.Context(), NewServices(testenv.Plant(t, map[string]string{mark: ""}), sysexec.Host{}), services.Options{Name: "nginx"})
		if code(err) != fault.Unsupported || !strings.Contains(fault.NewDocument("", err).Fix, want) {
			t.Errorf("%s: %v", mark, err)
		}
	}
}

// A systemd that hangs accepts connections and says nothing.
func TestSystemdThatHangsIsGivenUp(t *testing.T) {
	testenv.Namespaces(t)
	if !testenv.Inside(t, "unshare", "--mount", "sh", "-c", `mount -t tmpfs tmpfs /run && exec "$@"`, "sh") {
		return
	}
	if err := os.MkdirAll("/run/systemd/system", 0o755); err != nil {
		t.Fatal(err)
	}
	silent, err := net.Listen("unix", "/run/systemd/private")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	testenv.HangGuard(t)
	if _, err := plan(t, services.Options{Name: "nginx"}); code(err) != fault.Unavailable {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := services.PlanRestart(ctx, NewServices("/", sysexec.Host{}), services.Options{Name: "nginx"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestErrorsOfSystemdAreKnownByName(t *testing.T) {
	for name, want := range map[string]error{
		"org.freedesktop.systemd1.NoSuchUnit": services.ErrNoUnit, "org.freedesktop.systemd1.UnitMasked": services.ErrMasked,
		"org.freedesktop.systemd1.OnlyByDependency": services.ErrNoManual, "org.freedesktop.DBus.Error.AccessDenied": services.ErrDenied,
		"org.freedesktop.DBus.Error.InteractiveAuthorizationRequired": services.ErrDenied, "org.freedesktop.systemd1.ShuttingDown": services.ErrBusy,
		"org.freedesktop.systemd1.TransactionIsDestructive": services.ErrBusy, "org.freedesktop.systemd1.JobTypeNotApplicable": services.ErrRejected,
	} {
		e := dbus.Error{Name: name, Body: []any{"no such unit, masked"}}
		if !errors.Is(known(e), want) || !errors.Is(known(fmt.Errorf("call: %w", &e)), want) {
			t.Errorf("%s: %v", name, known(e))
		}
	}
	for _, err := range []error{dbus.Error{Name: "org.freedesktop.DBus.Error.NoReply"}, context.Canceled} {
		if got := known(err); got.Error() != err.Error() {
			t.Errorf("%v", got)
		}
	}
}
