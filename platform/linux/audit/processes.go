// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sentinel/internal/answer"
	"sentinel/internal/audit"
	"sentinel/internal/humanize"
	"sentinel/internal/processes"
	"sentinel/internal/userdb"
	"sentinel/platform/linux/procfs"
	"sentinel/platform/linux/virt"
	"sentinel/platform/unix/hostfile"
)

func processChecks() []check {
	return []check{
		{About: audit.About{
			ID: "processes.program_gone", Name: "Running programs whose file is gone", Severity: audit.High, Weight: 6, Unusual: true,
			Reference:   "Lynis FILE-6354, MITRE ATT&CK T1070.004",
			Description: "A program that removed its own file hides; one that an update replaced still has the holes that the update closed.",
			Formula:     "PASS when each running program is the file that it was started from, or the copy of itself that runc or crun runs. FAIL for one that runs from memory, whatever file the kernel was made to show for it or dynamic loader runs it, that was removed from a folder for temporary files, whatever its user has mounted that as, or that is on a file system of its user's that is in memory, mounted nowhere or, as an overlay or by FUSE, over a folder of the system, or whose path is too long to be looked up; what runs from a root of that kind, as in a rootless container, is counted. WARN for any other that was removed or replaced. Skipped when not all processes can be seen, which takes root.",
		}, Run: deletedPrograms, Limit: looksCheckLimit},
	}
}

// maxProcesses bounds how many processes are looked at.
const maxProcesses = 100_000

// A runningProcess is one entry of the process table.
type runningProcess struct {
	pid, uid int
	thread   int    // whose program is looked at: one that runs
	name     string // comm of proc(5), which the process may choose
	program  string // its path, or "" of a kernel thread and of one that cannot be seen
}

// processTable are those that run.
type processTable struct {
	list    []runningProcess
	hidden  int // whose program could not be seen
	sawInit bool
	asRoot  bool
}

// all is the list for checks that need to see every program.
func (t processTable) all() audit.List[runningProcess] {
	switch {
	case t.hidden > 0 && t.asRoot:
		return audit.ListOf(t.list, humanize.Count(t.hidden, "process", "processes")+" cannot be looked at")
	case t.hidden > 0:
		return audit.ListOf(t.list, humanize.Count(t.hidden, "process", "processes")+" cannot be looked at without root")
	case !t.sawInit:
		return audit.ListOf(t.list, "/proc does not show all processes")
	default:
		return audit.ListOf(t.list, "")
	}
}

// processTable reads the processes, once.
func (m *machine) processTable(ctx context.Context) (processTable, error) {
	return m.processes.Get(func() (processTable, error) {
		names, err := m.names("/proc", maxProcesses)
		if err != nil {
			return processTable{}, err
		}
		all := processTable{asRoot: m.privileged()}
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

// add reads one process, which may end at any moment, and which a user may keep from being read.
func (t *processTable) add(m *machine, pid int) {
	owner, err := m.stat("/proc/" + strconv.Itoa(pid))
	if err != nil {
		t.unseen(err)
		return
	}
	name, err := m.nameOf(pid)
	if err != nil {
		t.unseen(err)
		return
	}
	p := runningProcess{pid: pid, uid: owner.UID, thread: pid, name: name}
	p.program, err = m.proc().Link(pid, "exe")
	if hostfile.Missing(err) {
		p.thread, p.program, err = m.programOfThreads(pid)
	}
	t.unseen(err)
	t.sawInit = t.sawInit || pid == 1
	t.list = append(t.list, p)
}

// nameOf reads the name of a process in time; a tree of files may have it alone.
func (m *machine) nameOf(pid int) (string, error) {
	stat, err := m.proc().ProcessInTime(pid)
	if !hostfile.Missing(err) {
		return stat.Name, err
	}
	raw, err := m.readUpTo("/proc/"+strconv.Itoa(pid)+"/comm", 256)
	return strings.TrimRight(string(raw), "\n"), err
}

// unseen counts a process that an error hides, unless it has ended.
func (t *processTable) unseen(err error) {
	if err != nil && !procfs.Ended(err) {
		t.hidden++
	}
}

// programOfThreads looks for the program of a process whose first thread has ended in the others. A
// thread of the kernel has none. One that ends before it is looked at says nothing of the process.
func (m *machine) programOfThreads(pid int) (thread int, program string, err error) {
	const tries = 4
	for range tries {
		tid, err := m.proc().Thread(pid)
		if err != nil {
			return 0, "", err
		}
		program, err := m.proc().Link(pid, exeOf(tid))
		if !procfs.Ended(err) {
			return tid, program, err
		}
	}
	return 0, "", procfs.ErrThreadsChange
}

// exeOf is the link to what a thread of a process runs: that of the process is gone with its first thread.
func exeOf(tid int) string { return path.Join("task", strconv.Itoa(tid), "exe") }

func deletedPrograms(ctx context.Context, m *machine) audit.Finding {
	table, err := m.processTable(ctx)
	if err != nil {
		return audit.Unread("/proc", err)
	}
	gone, rest := m.gonePrograms(ctx, table.list)
	return table.all().And(audit.ListOf([]runningProcess(nil), rest), "").Judge(func(all []runningProcess) audit.Finding {
		return m.judgeDeleted(ctx, all, gone)
	})
}

// gonePrograms asks what runs that was removed or is in no mount of the system, and says whose program is not known.
func (m *machine) gonePrograms(ctx context.Context, all []runningProcess) (gone map[int]processes.Claim, rest string) {
	if m.GonePrograms == nil {
		return nil, ""
	}
	var threads []int
	of := map[int]int{}
	for _, p := range all {
		if p.program != "" {
			threads, of[p.thread] = append(threads, p.thread), p.pid
		}
	}
	gone, lost, err := m.GonePrograms(ctx, threads)
	if err != nil {
		return gone, "where programs are: " + answer.Reason(err)
	}
	lost = slices.DeleteFunc(lost, func(thread int) bool { return m.hasEnded(of[thread]) })
	if len(lost) > 0 {
		rest = humanize.Count(len(lost), "process", "processes") + " cannot be looked at: their threads end"
	}
	return gone, rest
}

// hasEnded says whether no thread of a process runs any longer.
func (m *machine) hasEnded(pid int) bool {
	p, err := m.proc().Process(pid)
	return procfs.Ended(err) || err == nil && p.Over()
}

// claimOf is what a process runs, as far as its path tells where nothing else is known.
func claimOf(p runningProcess, gone map[int]processes.Claim) processes.Claim {
	if c, known := gone[p.thread]; known {
		return c
	}
	file, removed := strings.CutSuffix(p.program, " (deleted)")
	return processes.Claim{Program: file, Removed: removed}
}

func (m *machine) judgeDeleted(ctx context.Context, all []runningProcess, gone map[int]processes.Claim) audit.Finding {
	var hiding, old []audit.Line
	clones, inContainers := 0, 0
	l, end := m.looks(ctx)
	defer end()
	for _, p := range all {
		c := claimOf(p, gone)
		if c.Place == processes.PlaceContainer {
			inContainers++
		}
		if !c.Removed && !c.LeavesNoFile() {
			continue
		}
		if original := procfs.CloneOf(c.Program); original != "" && !c.Unmapped && c.Loader == "" {
			if clones++; clones <= maxClones && m.isClone(p, original) { // a container is starting
				continue
			}
		}
		if line := l.goneLine(p, c); c.LeavesNoFile() {
			hiding = append(hiding, line)
		} else {
			old = append(old, line)
		}
	}
	const restart = "Restart what is named, so that it runs the new file: sudo sentinel --restart-service NAME; or reboot."
	switch {
	case len(hiding) > 0:
		return audit.Failed(humanize.Count(len(hiding), "program runs", "programs run")+" from memory, or from a file that was removed or that its user alone can find",
			"Find out what it is before you end it: sudo sentinel --process PID; a copy: sudo cp /proc/PID/exe FILE").With(hiding...).With(old...)
	case len(old) > 0:
		return audit.Warned(humanize.Count(len(old), "program was", "programs were")+" replaced or removed while running", restart).With(old...)
	default:
		return audit.Passed("None of " + humanize.Count(len(all), "process", "processes") + unlookedAt(inContainers))
	}
}

// unlookedAt says how many run what only their users can look at.
func unlookedAt(inContainers int) string {
	if inContainers == 0 {
		return ""
	}
	return "; " + humanize.Count(inContainers, "program runs", "programs run") + " " + string(processes.PlaceContainer)
}

// goneLine is the evidence of a process, whose program may be where its path does not tell.
func (l *looks) goneLine(p runningProcess, c processes.Claim) audit.Line {
	text := p.program + ", called " + p.name
	switch {
	case c.Loader != "":
		text += ", which runs " + c.Program
	case c.Unmapped:
		text += ", of which it has loaded nothing: it runs from memory"
	case c.Place != "":
		text += ", " + string(c.Place)
	case !c.LeavesNoFile() && l.replaced(p, c.Program):
		text += ", replaced since"
	}
	return audit.Line{Text: audit.At("/proc/"+strconv.Itoa(p.pid)+"/exe", 0, text), Owner: l.owner(p.uid)}
}

// replaced says whether there is a file again where a program was. In a mount namespace of its own a
// process of a user can have any path: that user must be able to see the file.
func (l *looks) replaced(p runningProcess, file string) bool {
	u, known := l.account(p.uid)
	if !known {
		u = userdb.User{UID: p.uid, GID: nogroup}
	}
	is, err := asUser(l, u, file, func() bool { return l.exists(file) })
	return is && err == nil
}

// nogroup is the group without rights, for a user whom the files in /etc do not know.
const nogroup = 65534

// cloningDirs are where packages put runc and crun, which copy themselves into memory before they start a
// container, as root or as a user.
var cloningDirs = []string{"/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/usr/libexec", "/usr/libexec/crio"}

// maxClones bounds how many are compared; the rest counts as other programs in memory.
const maxClones = 100

// isClone says whether a process runs a copy of a program.
func (m *machine) isClone(p runningProcess, original string) bool {
	held, err := m.openMemory(p)
	if err != nil {
		return procfs.Ended(err) && m.hasEnded(p.pid)
	}
	defer held.Close() //nolint:errcheck // only read from
	return slices.ContainsFunc(cloningDirs, func(dir string) bool {
		file := path.Join(dir, original)
		_, alone := m.tree().ChangedBy(file, m.Owner)
		return alone && isCopy(held, m.path(file))
	})
}

// openMemory opens what a process runs, if that is memory, through a thread that runs.
func (m *machine) openMemory(p runningProcess) (held *os.File, err error) {
	const tries = 4
	for range tries {
		link, stuck := m.proc().Path(p.pid, exeOf(p.thread))
		if stuck != nil {
			return nil, stuck
		}
		if held, err = procfs.OpenHeld(link, procfs.Held.InMemory); !procfs.Ended(err) {
			break
		}
		tid, none := m.proc().Thread(p.pid)
		if p.thread = tid; none != nil { // the first one, where a thread has put a program in the place of the process
			p.thread = p.pid
		}
	}
	return held, err
}

// isCopy says whether memory has the content of the regular file at path.
func isCopy(memory *os.File, path string) bool {
	fd, err := hostfile.OpenNamed(path, unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return false
	}
	file := os.NewFile(uintptr(fd), path)
	defer file.Close() //nolint:errcheck // only read from
	copied, err := memory.Stat()
	original, statErr := file.Stat()
	return err == nil && statErr == nil && original.Mode().IsRegular() && original.Size() == copied.Size() &&
		sameContent(io.NewSectionReader(memory, 0, copied.Size()), file)
}

// sameContent compares up to the first difference.
func sameContent(one, other io.Reader) bool {
	var a, b [32 << 10]byte
	for {
		n, err := io.ReadFull(one, a[:])
		m, otherErr := io.ReadFull(other, b[:])
		switch {
		case !bytes.Equal(a[:n], b[:m]):
			return false
		case err != nil:
			return isEnd(err) && isEnd(otherErr)
		}
	}
}

func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

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
