// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"sentinel/internal/audit"
	"sentinel/internal/humanize"
	"sentinel/platform/linux/virt"
	"sentinel/platform/unix/hostfile"
)

func processChecks() []check {
	return []check{
		{About: audit.About{
			ID: "processes.deleted", Name: "Running programs whose file is gone", Severity: audit.High, Weight: 6,
			Reference:   "Lynis FILE-6354, MITRE ATT&CK T1070.004",
			Description: "A program that removed its own file hides; one that an update replaced still has the holes that the update closed.",
			Formula:     "PASS when each running program is the file that it was started from. FAIL for one that ran from memory or from a folder for temporary files and was removed. WARN for any other that was removed or replaced. Skipped when not all processes can be seen, which takes root.",
		}, Run: deletedPrograms},
	}
}

// maxProcesses bounds how many processes are looked at.
const maxProcesses = 100_000

// A runningProcess is one entry of the process table.
type runningProcess struct {
	pid, uid int
	name     string // comm of proc(5), which the process may choose
	program  string // its path, or "" of a kernel thread
}

// processTable are those that run.
type processTable struct {
	list    []runningProcess
	hidden  int // whose program could not be seen
	sawInit bool
}

// processTable reads the processes, once.
func (m *machine) processTable(ctx context.Context) (processTable, error) {
	return m.processes.Get(func() (processTable, error) {
		names, err := m.names("/proc", maxProcesses)
		if err != nil {
			return processTable{}, err
		}
		var all processTable
		for _, name := range names {
			if err := ctx.Err(); err != nil {
				return processTable{}, err
			}
			if pid, err := strconv.Atoi(name); err == nil {
				all.add(m, pid)
			}
		}
		if len(all.list) == 0 {
			return processTable{}, errors.New("shows no process here")
		}
		return all, nil
	})
}

// add reads one process, which may end at any moment.
func (t *processTable) add(m *machine, pid int) {
	directory := "/proc/" + strconv.Itoa(pid)
	owner, err := m.stat(directory)
	if err != nil {
		return
	}
	raw, err := m.readUpTo(directory+"/comm", 256)
	if err != nil {
		return
	}
	p := runningProcess{pid: pid, uid: owner.UID, name: strings.TrimRight(string(raw), "\n")}
	p.program, err = os.Readlink(m.path(directory + "/exe"))
	if errors.Is(err, fs.ErrPermission) {
		t.hidden++
	}
	t.sawInit = t.sawInit || pid == 1
	t.list = append(t.list, p)
}

// daemon returns the first process with one of the names that runs as a system
// user: an ordinary user can call a process anything.
func (t processTable) daemon(m *machine, names ...string) (runningProcess, bool) {
	for _, p := range t.list {
		if slices.Contains(names, p.name) && (p.uid < 1000 || p.uid == m.Owner || isDynamicID(uint32(p.uid))) {
			return p, true
		}
	}
	return runningProcess{}, false
}

func deletedPrograms(ctx context.Context, m *machine) audit.Finding {
	all, err := m.processTable(ctx)
	if err != nil {
		return audit.Unread("/proc", err)
	}
	var hiding, old []string
	for _, p := range all.list {
		file, gone := strings.CutSuffix(p.program, " (deleted)")
		if !gone || strings.HasPrefix(file, "/memfd:runc_cloned:") { // a container is starting
			continue
		}
		line := audit.At("/proc/"+strconv.Itoa(p.pid)+"/exe", 0, p.program+", called "+p.name)
		switch {
		case strings.HasPrefix(file, "/memfd:"), isBelowAny(file, []string{"/tmp", "/var/tmp", "/dev", "/run/user"}):
			hiding = append(hiding, line)
		case m.exists(file):
			old = append(old, line+", replaced since")
		default:
			old = append(old, line)
		}
	}
	const restart = "Restart what is named, so that it runs the new file: sudo sentinel --restart-service NAME; or reboot."
	switch {
	case len(hiding) > 0:
		return audit.Failed(humanize.Count(len(hiding), "program runs", "programs run")+" from memory or from a temporary file that was removed",
			"Find out what it is before you end it: sudo ls -l /proc/PID/exe /proc/PID/fd; a copy: sudo cp /proc/PID/exe FILE", append(hiding, old...)...)
	case len(old) > 0:
		return audit.Warned(humanize.Count(len(old), "program was", "programs were")+" replaced or removed while running", restart, old...)
	case all.hidden > 0:
		return audit.Unseen(humanize.Count(all.hidden, "process", "processes") + " cannot be looked at without root")
	case !all.sawInit:
		return audit.Unseen("/proc does not show all processes")
	default:
		return audit.Passed("None of " + humanize.Count(len(all.list), "process", "processes"))
	}
}

// container says whether this system is a container: its clock, kernel log and
// audit are those of the host.
func (m *machine) container() bool { return virt.Container(m.Root) != "" }

// foreignKernel says whether only the host of this container can change its kernel. Windows lets
// its distributions of Linux do so.
func (m *machine) foreignKernel() bool { return m.container() && virt.Container(m.Root) != "wsl" }

// unitEnabled says whether a target of systemd wants a unit at boot and nobody
// masked it.
func (m *machine) unitEnabled(unit string) bool {
	if m.masked(unit) {
		return false
	}
	for _, directory := range []string{"/etc/systemd/system/", "/usr/lib/systemd/system/", "/lib/systemd/system/"} {
		for _, target := range []string{"multi-user", "timers", "sysinit", "basic", "sockets"} {
			if m.exists(directory + target + ".target.wants/" + unit) {
				return true
			}
		}
	}
	return false
}

// optionalText returns the content of a file, "" for one that does not exist.
func (m *machine) optionalText(name string) (string, error) {
	raw, err := m.read(name)
	if hostfile.Missing(err) {
		return "", nil
	}
	return string(raw), err
}
