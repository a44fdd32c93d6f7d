// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"strings"

	"github.com/moby/sys/mountinfo"

	"sentinel/internal/audit"
	"sentinel/platform/linux/mounts"
)

func mountChecks() []check {
	return []check{
		{About: audit.About{
			ID: "mounts.tmp", Name: "Mount options of /tmp", Severity: audit.Low, Weight: 2,
			Reference:   "CIS 1.1.2.1, Lynis FILE-6374",
			Description: "Everyone can write to /tmp, so nothing there should be a program, a device or a set-user-ID file.",
			Formula:     "PASS when /tmp is a file system of its own with nodev, nosuid and noexec. WARN otherwise. Does not apply to a container that was given none.",
		}, Run: ownFileSystem("/tmp", "nodev", "nosuid", "noexec")},
		{About: audit.About{
			ID: "mounts.var_tmp", Name: "Mount options of /var/tmp", Severity: audit.Low, Weight: 1,
			Reference:   "CIS 1.1.2.5, Lynis FILE-6374",
			Description: "Everyone can write to /var/tmp, so nothing there should be a program, a device or a set-user-ID file.",
			Formula:     "PASS when /var/tmp is a file system of its own with nodev, nosuid and noexec. WARN otherwise. Does not apply to a container that was given none.",
		}, Run: ownFileSystem("/var/tmp", "nodev", "nosuid", "noexec")},
		{About: audit.About{
			ID: "mounts.home", Name: "Mount options of /home", Severity: audit.Low, Weight: 1,
			Reference:   "CIS 1.1.2.3, Lynis FILE-6374",
			Description: "Users need neither devices nor set-user-ID programs in their folders.",
			Formula:     "PASS when /home is a file system of its own with nodev and nosuid. WARN otherwise. Does not apply when /home is empty or missing.",
		}, Run: homeOptions},
		{About: audit.About{
			ID: "mounts.shm", Name: "Mount options of /dev/shm", Severity: audit.Low, Weight: 2,
			Reference:   "CIS 1.1.2.2, Lynis FILE-6374",
			Description: "Shared memory that everyone can write is a favourite place to hide a program.",
			Formula:     "PASS when /dev/shm is mounted with nodev, nosuid and noexec. WARN otherwise. Does not apply when nothing is mounted there.",
		}, Run: shmOptions},
		{About: audit.About{
			ID: "mounts.hidepid", Name: "Processes of others hidden", Severity: audit.Low, Weight: 1,
			Reference:   "Lynis FILE-6344",
			Description: "Users see the command lines of everyone, sometimes with a password in them.",
			Formula:     "PASS when /proc is mounted with hidepid=1, 2, noaccess, invisible or ptraceable, or no account but root has a shell. WARN otherwise.",
		}, Run: hidePID},
	}
}

// ownFileSystem checks that a path is a file system of its own and has options.
func ownFileSystem(point string, want ...string) func(context.Context, *machine) audit.Finding {
	return func(_ context.Context, m *machine) audit.Finding {
		table, err := m.mounts()
		if err != nil {
			return audit.Unread("/proc/self/mountinfo", err)
		}
		t := mountedAt(table, point)
		if t == nil && m.container() {
			return audit.NotApplicable("the file systems are those that the host gives to this container")
		}
		if t == nil {
			return audit.Warned(point+" is not a file system of its own",
				"Give "+point+" a file system of its own in /etc/fstab with the options "+strings.Join(want, ",")+".",
				"/proc/self/mountinfo: nothing is mounted at "+point)
		}
		return judgeOptions(t, want)
	}
}

func judgeOptions(t *mountinfo.Info, want []string) audit.Finding {
	var lacking []string
	for _, option := range want {
		if !mounts.HasOption(t.Options, option) {
			lacking = append(lacking, option)
		}
	}
	if len(lacking) == 0 {
		return audit.Passed(t.Mountpoint + " has " + strings.Join(want, ", "))
	}
	missing := strings.Join(lacking, ",")
	return audit.Warned(t.Mountpoint+" lacks "+strings.Join(lacking, ", "),
		"Add "+missing+" to the options of "+t.Mountpoint+" in /etc/fstab (or in its .mount unit), then run: sudo mount -o remount,"+missing+" "+t.Mountpoint,
		"/proc/self/mountinfo: "+t.FSType+" at "+t.Mountpoint+" with "+t.Options)
}

func homeOptions(ctx context.Context, m *machine) audit.Finding {
	names, err := m.names("/home", 1)
	if len(names) == 0 && (err == nil || !m.exists("/home")) {
		return audit.NotApplicable("no user has a folder in /home")
	}
	return ownFileSystem("/home", "nodev", "nosuid")(ctx, m)
}

func shmOptions(_ context.Context, m *machine) audit.Finding {
	table, err := m.mounts()
	if err != nil {
		return audit.Unread("/proc/self/mountinfo", err)
	}
	t := mountedAt(table, "/dev/shm")
	if t == nil {
		return audit.NotApplicable("nothing is mounted at /dev/shm")
	}
	return judgeOptions(t, []string{"nodev", "nosuid", "noexec"})
}

// hidePID looks at the options of the file system: hidepid is not one of the mount.
func hidePID(_ context.Context, m *machine) audit.Finding {
	table, err := m.mounts()
	if err != nil {
		return audit.Unread("/proc/self/mountinfo", err)
	}
	t := mountedAt(table, "/proc")
	if t == nil || t.FSType != "proc" {
		return audit.NotApplicable("/proc is not mounted by the kernel here")
	}
	if option := hidePIDOption(t.VFSOptions); option != "" {
		return audit.Passed("/proc has " + option)
	}
	users, err := m.users()
	if err == nil && !users.directoryService && len(users.loginUsers()) == 0 {
		return audit.Passed("No account but root has a shell")
	}
	return audit.Warned("Every user sees all processes",
		"Add hidepid=invisible to the options of /proc in /etc/fstab with gid= of a group for those who must see (systemd-logind and polkit need it), or accept it with an exemption.",
		"/proc/self/mountinfo: proc at /proc with "+t.VFSOptions)
}

// hidePIDOption returns the option that hides the processes of others, "" for none.
func hidePIDOption(options string) string {
	for _, option := range []string{"hidepid=1", "hidepid=2", "hidepid=4", "hidepid=noaccess", "hidepid=invisible", "hidepid=ptraceable"} {
		if mounts.HasOption(options, option) {
			return option
		}
	}
	return ""
}
