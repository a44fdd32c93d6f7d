// SPDX-License-Identifier: Apache-2.0

//go:build linux

package services

import (
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sentinel/internal/fault"
	"sentinel/internal/services"
	"sentinel/internal/sysexec"
	"sentinel/internal/testenv"
)

// ending are services whose end or restart does something to others.
var ending = map[string]string{
	"dog.service":      "[Unit]\nFailureAction=reboot\n" + sleeps,
	"good.service":     "[Unit]\nSuccessAction=poweroff\n" + sleeps,
	"carrier.service":  sleeps,
	"ssh.service":      "[Unit]\nBindsTo=carrier.service\nAfter=carrier.service\n" + sleeps,
	"rescuer.service":  "[Unit]\nOnFailure=reboot.target\n" + sleeps,
	"last.service":     sleeps + "ExecStopPost=/usr/sbin/reboot\n",
	"first.service":    sleeps + "ExecStartPre=-/usr/bin/test -x /usr/sbin/reboot\n",
	"plain.service":    sleeps,
	"base.service":     "[Unit]\nPropagatesStopTo=follower.service\nWants=wanted.service\nOnFailure=alarm.service\n" + sleeps,
	"always.service":   "[Unit]\nWants=other.service\nOnFailure=alarm.service\n[Service]\nRestart=always\nRestartSec=100ms\nExecStart=/bin/sleep infinity\n",
	"bound.service":    "[Unit]\nBindsTo=base.service\nAfter=base.service\n" + sleeps,
	"second.service":   "[Unit]\nRequires=bound.service\nAfter=bound.service\n" + sleeps,
	"requires.service": "[Unit]\nRequires=base.service\nAfter=base.service\n" + sleeps,
	"follower.service": sleeps,
	"wanted.service":   sleeps,
	"other.service":    sleeps,
	"alarm.service":    sleeps,
	"tied.service":     "[Unit]\nBindsTo=always.service\nAfter=always.service\n" + sleeps,
	"needs.service":    "[Unit]\nRequires=always.service\nAfter=always.service\n" + sleeps,

	"wishes.service":   "[Unit]\nWants=unneeded.service\nRequires=shared.service\n" + sleeps,
	"unneeded.service": "[Unit]\nStopWhenUnneeded=yes\nBindsTo=below.service\n" + sleeps,
	"below.service":    "[Unit]\nStopWhenUnneeded=yes\n" + sleeps,
	"shared.service":   "[Unit]\nStopWhenUnneeded=yes\n" + sleeps,
	"shares.service":   "[Unit]\nWants=shared.service\n" + sleeps,
	"dropbear.service": "[Unit]\nStopWhenUnneeded=yes\n" + sleeps,
	"login.service":    "[Unit]\nUpholds=dropbear.service\n" + sleeps,

	"cache.service":  "[Unit]\nWants=fresh.service fresh.socket\n" + sleeps,
	"fresh.service":  "[Unit]\nConflicts=legacy.service\nOnFailure=alarm.service\n" + sleeps,
	"fresh.socket":   "[Socket]\nListenStream=/run/fresh\nService=plain.service\n",
	"legacy.service": sleeps,
	"shop.service":   "[Unit]\nRequires=cache.service\nAfter=cache.service\n" + sleeps,
}

func show(t *testing.T, property, unit string) string {
	t.Helper()
	out, err := exec.Command(testenv.Program(t, "systemctl", "systemd"), "show", "--value", "--property="+property, unit).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func mainProcess(t *testing.T, unit string) int {
	t.Helper()
	pid, err := strconv.Atoi(show(t, "MainPID", unit))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func checkEnd(t *testing.T, unit string, pid int, force bool) (services.Others, error) {
	t.Helper()
	return services.CheckEnd(t.Context(), NewServices("/", sysexec.Host{}), services.End{
		Name: unit, PID: pid, Force: force, Protected: []string{"plain"},
		Refusal: func(why string, lifts bool) *fault.Error {
			return fault.New(fault.ProtectedProcess, why+", lifted by force: "+strconv.FormatBool(lifts))
		},
	})
}

func TestEndsThatABootedSystemRefuses(t *testing.T) {
	if !testenv.Booted(t, ending) {
		return
	}
	prepare(t, []string{"start login dog good carrier ssh rescuer last first plain"})
	for _, c := range []struct {
		unit, why string
		forced    bool // by force as well
	}{
		{"dog", "when dog.service ends or fails, systemd may reboot the system", true},
		{"good", "when good.service ends or fails, systemd may poweroff the system", true},
		{"carrier", "the end of carrier.service stops ssh.service as well", false},
		{"login", "the end of login.service stops dropbear.service as well", false},
		{"rescuer", "the end of rescuer.service may start reboot.target, which ends the system", true},
		{"last", "last.service runs /usr/sbin/reboot, which ends the system", true},
		{"plain", "plain.service is protected: the configuration of this machine says so", false},
		{"inside", "when inside.service ends or fails, systemd may exit-force the system", true},
		{"first", "", false},
	} {
		unit := c.unit + suffix
		for _, force := range []bool{false, true} {
			want := ""
			if c.why != "" && (!force || c.forced) {
				want = c.why + ", lifted by force: " + strconv.FormatBool(!c.forced)
			}
			if c.unit == "inside" && !force {
				want = "inside.service ends with it, and this very call runs in it and would end with it, lifted by force: true"
			}
			got := ""
			if _, err := checkEnd(t, unit, mainProcess(t, unit), force); err != nil {
				got = err.Error()
			}
			if strings.TrimSuffix(got, ".") != want {
				t.Errorf("%s, force %v: %q, want %q", c.unit, force, got, want)
			}
		}
		if _, err := checkEnd(t, unit, 1<<21, false); err != nil {
			t.Errorf("another process of %s: %v", c.unit, err)
		}
	}
}

// What is told of an end is what systemd does.
func TestWhatABootedSystemStopsWithAProcess(t *testing.T) {
	if !testenv.Booted(t, ending) {
		return
	}
	for _, c := range []struct {
		unit     string
		on       []string
		restarts []string
		stops    []string
		starts   []string
		spares   []string
	}{
		{"base", []string{"bound", "second", "requires", "follower"}, nil, []string{"bound", "follower", "second"}, []string{"alarm"}, []string{"requires"}},
		{"wishes", []string{"unneeded", "below", "shared", "shares"}, nil, []string{"below", "unneeded"}, nil, []string{"shared", "shares"}},
		{"always", []string{"tied", "needs"}, []string{"needs"}, []string{"tied"}, []string{"other"}, nil},
	} {
		prepare(t, []string{"start " + c.unit + " " + strings.Join(c.on, " "), "stop wanted other alarm"})
		before := map[string]int{}
		for _, name := range c.on {
			before[name] = mainProcess(t, name)
		}
		pid := mainProcess(t, c.unit)
		others, err := checkEnd(t, c.unit+suffix, pid, false)
		if err != nil {
			t.Fatal(err)
		}
		want := services.Also{
			AlsoRestarts: units(c.restarts), AlsoStops: units(c.stops), AlsoStarts: units(c.starts), AlsoTotal: len(c.restarts) + len(c.stops) + len(c.starts),
		}
		if diff := cmp.Diff(want, others.Also); diff != "" {
			t.Errorf("%s: %s", c.unit, diff)
		}
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for _, name := range c.stops {
			testenv.WaitFor(t, name+" to stop", func() bool { return show(t, "ActiveState", name) == "inactive" })
		}
		for _, name := range c.restarts {
			testenv.WaitFor(t, name+" to be restarted", func() bool { now := mainProcess(t, name); return now != 0 && now != before[name] })
		}
		for _, name := range c.starts {
			testenv.WaitFor(t, name+" to be started", func() bool { return show(t, "ActiveState", name) == "active" })
		}
		for _, name := range c.spares {
			if mainProcess(t, name) != before[name] {
				t.Errorf("%s did not stay", name)
			}
		}
	}
}

func units(names []string) []string {
	var list []string
	for _, name := range names {
		list = append(list, name+suffix)
	}
	return list
}

func TestARestartTellsOfOtherUnits(t *testing.T) {
	if !testenv.Booted(t, ending) {
		return
	}
	prepare(t, []string{"start shop", "stop fresh.socket fresh.service", "start legacy"})
	shop := mainProcess(t, "shop")
	summary, err := plan(t, services.Options{Name: "cache"})
	if want := "would be restarted. It also restarts shop.service; stops legacy.service; may start fresh.service, fresh.socket."; err != nil || !strings.HasSuffix(summary, want) {
		t.Errorf("%q, %v, want %q", summary, err, want)
	}
	done, err := restart(t.Context(), t, services.Options{Name: "cache"})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(done.AlsoRestarts, []string{"shop.service"}) || !slices.Equal(done.AlsoStops, []string{"legacy.service"}) ||
		!slices.Equal(done.AlsoStarts, []string{"fresh.service", "fresh.socket"}) || done.AlsoTotal != 4 || done.AlsoOff != nil || done.Unread != nil {
		t.Errorf("%+v", done)
	}
	if now := mainProcess(t, "shop"); now == 0 || now == shop {
		t.Errorf("shop was not restarted: %d, before %d", now, shop)
	}
	for unit, want := range map[string]string{"legacy.service": "inactive", "fresh.service": "active", "fresh.socket": "active"} {
		if got := show(t, "ActiveState", unit); got != want {
			t.Errorf("%s is %s", unit, got)
		}
	}
}
