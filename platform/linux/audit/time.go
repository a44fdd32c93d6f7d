// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"fmt"
	"io/fs"
	"time"

	"sentinel/internal/audit"
	"sentinel/platform/unix/hostfile"
)

func timeChecks() []check {
	return []check{
		{About: audit.About{
			ID: "time.service", Name: "Time synchronisation", Severity: audit.Medium, Weight: 4,
			Reference:   "CIS 2.3.1, Lynis TIME-3104",
			Description: "With a wrong clock certificates, logs and one-time passwords cannot be trusted.",
			Formula:     "PASS when chrony, ntpd, openntpd or systemd-timesyncd runs, or a time service of the virtual machine. FAIL otherwise. Does not apply in a container, whose clock is the host's.",
		}, Run: timeService},
		{About: audit.About{
			ID: "time.synchronised", Name: "Clock is synchronised", Severity: audit.Medium, Weight: 2,
			Reference:   "Lynis TIME-3185",
			Description: "A time service that reaches no server leaves the clock to itself.",
			Formula:     "PASS when systemd-timesyncd set the clock within the last day, or, with another service, the kernel says that its clock is synchronised. WARN otherwise. Does not apply in a container or without a time service.",
		}, Run: clockSynchronized},
	}
}

var timeDaemons = []string{"chronyd", "ntpd", "openntpd", "systemd-timesyn", "ntpsec", "ptp4l", "phc2sys", "VBoxService", "vmtoolsd"}

func timeService(ctx context.Context, m *machine) audit.Finding {
	if m.container() {
		return audit.NotApplicable("the clock is that of the host of this container")
	}
	all, err := m.processTable(ctx)
	if err != nil {
		return audit.Unread("/proc", err)
	}
	if p, ok := all.daemon(m, timeDaemons...); ok {
		return audit.Passed(p.name + " runs")
	}
	if !all.sawInit {
		return audit.Unseen("/proc does not show all processes")
	}
	const install = "Install one: sudo apt install systemd-timesyncd, or on Red Hat: sudo dnf install chrony; sudo systemctl enable --now chronyd"
	return audit.Failed("Nothing sets the clock", m.startOr(install, "chrony", "chronyd", "ntpsec", "ntpd", "ntp", "openntpd", "systemd-timesyncd"),
		"/proc: none of chronyd, ntpd, openntpd, systemd-timesyncd runs")
}

// timesyncStamp is touched whenever systemd-timesyncd sets the clock.
const timesyncStamp = "/run/systemd/timesync/synchronized"

func clockSynchronized(ctx context.Context, m *machine) audit.Finding {
	if m.container() {
		return audit.NotApplicable("the clock is that of the host of this container")
	}
	all, err := m.processTable(ctx)
	if err != nil {
		return audit.Unread("/proc", err)
	}
	p, ok := all.daemon(m, timeDaemons...)
	switch {
	case !ok && !all.sawInit:
		return audit.Unseen("/proc does not show all processes")
	case !ok:
		return audit.NotApplicable("no time service runs")
	case p.name == "systemd-timesyn":
		return m.timesyncd()
	case !m.live():
		return audit.Unread("the kernel's clock", errNotLive)
	}
	return kernelClock(p.name)
}

func kernelClock(daemon string) audit.Finding {
	synced, err := kernelClockSynchronized()
	switch {
	case err != nil:
		return audit.Unread("the kernel's clock", err)
	case synced:
		return audit.Passed("The kernel's clock is synchronised")
	default:
		return audit.Warned("The kernel's clock is not synchronised by "+daemon, "See which servers it reaches: chronyc sources, or ntpq -p", "adjtimex(2): STA_UNSYNC")
	}
}

// timesyncd goes by the stamp, because the kernel forgets within a day that its
// clock was set. The service polls at least every 34 minutes.
func (m *machine) timesyncd() audit.Finding {
	const fix = "See which servers it reaches: timedatectl timesync-status"
	stamp, err := hostfile.Stat(m.path(timesyncStamp))
	if hostfile.Missing(err) {
		return audit.Warned("The clock was not set since the service started", fix, audit.At(timesyncStamp, 0, fs.ErrNotExist.Error()))
	}
	if err != nil {
		return audit.Unread(timesyncStamp, err)
	}
	age := m.now().Sub(stamp.Modified)
	if age > 24*time.Hour {
		return audit.Warned(fmt.Sprintf("The clock was last set %.0f hours ago", age.Hours()), fix, audit.At(timesyncStamp, 0, stamp.Modified.UTC().Format(time.RFC3339)))
	}
	return audit.Passed("systemd-timesyncd set the clock")
}
