// SPDX-License-Identifier: Apache-2.0

//go:build linux

package diskusage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"sentinel/internal/answer"
	"sentinel/internal/diskusage"
	"sentinel/internal/humanize"
	"sentinel/platform/linux/cgroup"
	"sentinel/platform/linux/mounts"
	"sentinel/platform/linux/procfs"
)

// maxDeleted bounds how many deleted files are kept: any user may have thousands open.
const maxDeleted = 10_000

// Deleted finds them among the files that processes of this user have open, run or have mapped.
func (s *Source) Deleted(ctx context.Context, place diskusage.Place) (diskusage.Deleted, error) {
	f := newFinder(s, place)
	f.devices = []uint64{unix.Mkdev(place.FileSystem.DeviceMajor, place.FileSystem.DeviceMinor)}
	if dir, err := procfs.StatHeld(filepath.Join(s.root, place.Path)); err == nil { // btrfs has one for each subvolume
		f.devices = append(f.devices, dir.Device)
	}
	skipped, err := s.proc.HeldFiles(ctx, f.visit, f.visitNameless)
	if err != nil {
		return diskusage.Deleted{}, err
	}
	d := diskusage.Deleted{Gaps: answer.Gaps{}}
	for _, file := range f.files {
		f.name(file)
		d.Files = append(d.Files, *file)
	}
	d.Gaps = append(d.Gaps, gapsOf(skipped, len(f.files) >= maxDeleted)...)
	f.noteUnknown(&d.Gaps)
	f.noteRegistered(&d.Gaps)
	return d, nil
}

// An identity tells files apart.
type identity struct{ device, inode uint64 }

// A mount is what matters of one here.
type mount struct {
	device mounts.Device
	kind   string
	upper  string // of an overlay, the directory that its files are in, as whoever mounted it wrote it
}

// A finder looks at open files.
type finder struct {
	source *Source
	place  diskusage.Place
	tables map[int]map[int]mount // by process; the one of this process is at 0
	files  map[identity]*diskusage.DeletedFile
	holder map[identity]int // the process that was counted last
	// devices are those of files on the file system, where no mount tells.
	devices []uint64
	uppers  map[string]bool   // whether that directory of an overlay is on the file system
	unknown map[identity]bool // files in overlays of which that is not known
	users   map[int]bool      // who holds those
	// opened and registered are deleted files by process and name: those that are found, and those that are known to be
	// registered with an io_uring, of which nothing else is told.
	opened, registered map[namedFile]bool
}

// A namedFile is a file of a name that a process holds.
type namedFile struct {
	pid  int
	name string
}

func newFinder(s *Source, place diskusage.Place) finder {
	return finder{
		source: s, place: place, tables: map[int]map[int]mount{}, files: map[identity]*diskusage.DeletedFile{}, holder: map[identity]int{},
		uppers: map[string]bool{}, unknown: map[identity]bool{}, users: map[int]bool{},
		opened: map[namedFile]bool{}, registered: map[namedFile]bool{},
	}
}

// visit looks at one open file.
func (f *finder) visit(o procfs.OpenFile) (more bool) {
	name, deleted := procfs.DeletedPath(f.wholeLink(o))
	if !deleted {
		return true
	}
	if o.Registered() {
		if len(f.registered) < maxDeleted {
			f.registered[namedFile{o.PID, string(name)}] = true
		}
		return true
	}
	held, err := f.source.proc.Held(o.PID, o.Name())
	if err != nil {
		return true // it is closed by now
	}
	id, told := parseMountID(o.About())
	if len(f.opened) < maxDeleted {
		f.opened[namedFile{o.PID, string(name)}] = true
	}
	if held.Links != 0 || held.Mode&unix.S_IFMT != unix.S_IFREG || !f.isHere(o.PID, id, told, held) {
		return true // somebody's file is called so
	}
	return f.add(o.PID, string(name), held)
}

// visitNameless looks at one file that a process runs or has mapped.
func (f *finder) visitNameless(n procfs.NamelessFile) (more bool) {
	if !f.isHere(n.PID, int(n.Mount), n.Mount != 0, n.Held) {
		return true
	}
	return f.add(n.PID, n.Path, n.Held)
}

// longLink is the length from which a link that was read may have been cut, in bytes.
const longLink = 100

// wholeLink reads the link of a file once more where it may have been cut, as that to the log of a
// container.
func (f *finder) wholeLink(o procfs.OpenFile) []byte {
	if len(o.Link) < longLink || o.Registered() {
		return o.Link
	}
	whole, err := f.source.proc.Link(o.PID, o.Name())
	if err != nil {
		return o.Link
	}
	return []byte(whole)
}

// add counts a process that holds a file.
func (f *finder) add(pid int, name string, held procfs.Held) (more bool) {
	id := identity{held.Device, held.Inode}
	known := f.files[id]
	if known == nil {
		f.files[id], f.holder[id] = &diskusage.DeletedFile{PID: pid, Path: name, Bytes: held.Blocks * 512, Holders: 1}, pid
		return len(f.files) < maxDeleted
	}
	if f.holder[id] != pid {
		known.Holders++
		f.holder[id] = pid
	}
	known.PID = min(known.PID, pid)
	return true
}

// isHere reports whether an open file of a process is on the file system, by the mount that the
// kernel tells about it. A process in a container has mounts of its own. Whoever leaves a mount namespace with
// a file open has one of a mount that nobody lists; then its device tells.
func (f *finder) isHere(pid, id int, told bool, held procfs.Held) bool {
	m, known := f.table(0)[id]
	if !known && told {
		m, known = f.table(pid)[id]
	}
	switch {
	case !told || !known:
		return slices.Contains(f.devices, held.Device)
	case m.kind == "overlay" && !f.isDevice(m):
		return f.isBelow(pid, m, held)
	default:
		return f.isDevice(m)
	}
}

// isBelow reports whether the files of an overlay are on the file system. The name of their directory means
// something here only where root mounted it: in a namespace of their own users have anything at that name.
func (f *finder) isBelow(pid int, m mount, held procfs.Held) bool {
	if path.IsAbs(m.upper) && (f.isOurs(m) || f.source.proc.OfOurUsers(pid)) {
		if here, known := f.isUpperHere(m.upper); known {
			return here
		}
	}
	if len(f.unknown) < maxDeleted {
		f.unknown[identity{held.Device, held.Inode}] = true
	}
	if uid, err := f.source.proc.UID(pid); err == nil {
		f.users[f.source.proc.UserOf(uid)] = true
	}
	return false
}

// isOurs reports whether an overlay is mounted here, too, as that of a container is where root runs it.
func (f *finder) isOurs(overlay mount) bool {
	for _, m := range f.table(0) {
		if m.device == overlay.device {
			return true
		}
	}
	return false
}

func (f *finder) isUpperHere(upper string) (here, known bool) {
	if here, known = f.uppers[upper]; known {
		return here, true
	}
	dir, err := procfs.StatNamed(filepath.Join(f.source.root, upper))
	if err != nil {
		return false, false
	}
	m, listed := f.table(0)[int(dir.Mount)]
	f.uppers[upper] = listed && f.isDevice(m) || slices.Contains(f.devices, dir.Device)
	return f.uppers[upper], true
}

// noteUnknown says how many files in overlays are not counted, and whose they are.
func (f *finder) noteUnknown(gaps *answer.Gaps) {
	if len(f.unknown) == 0 {
		return
	}
	whose := humanize.Count(len(f.users), "user", "users")
	if len(f.users) == 1 {
		for uid := range f.users {
			whose = "user " + strconv.Itoa(uid)
		}
	}
	gaps.Note("deleted_open", fmt.Sprintf("%s of %s in overlays of containers, where is not known, are not counted", humanize.Count(len(f.unknown), "deleted file", "deleted files"), whose))
}

// noteRegistered says whose deleted files have no descriptor, by which their size would be told.
func (f *finder) noteRegistered(gaps *answer.Gaps) {
	files, pids := 0, map[int]bool{}
	for h := range f.registered {
		if !f.opened[h] { // many keep the descriptor, too
			files++
			pids[h.pid] = true
		}
	}
	if files == 0 {
		return
	}
	whose := "process " + strconv.Itoa(slices.Min(slices.Collect(maps.Keys(pids))))
	if more := len(pids) - 1; more > 0 {
		whose += " and " + humanize.Count(more, "other", "others")
	}
	gaps.Note("deleted_open", fmt.Sprintf("without %s of any file system that %s registered with io_uring, whose size is not known", humanize.Count(files, "deleted file", "deleted files"), whose))
}

func (f *finder) isDevice(m mount) bool {
	return m.device == mounts.Device{Major: f.place.FileSystem.DeviceMajor, Minor: f.place.FileSystem.DeviceMinor}
}

// maxTables bounds how many processes' mounts are read.
const maxTables = 200

// table returns the mounts that a process has, by number; 0 is this process.
func (f *finder) table(pid int) map[int]mount {
	if t, read := f.tables[pid]; read || len(f.tables) > maxTables {
		return t
	}
	read := f.source.mounts.Table
	if pid != 0 {
		read = func() ([]*mountinfo.Info, error) { return f.source.mounts.TableOf(f.source.proc, pid) }
	}
	list, err := read()
	t := map[int]mount{}
	for _, m := range list {
		t[m.ID] = mount{mounts.DeviceOf(m), m.FSType, upperOf(m)}
	}
	if err != nil {
		t = nil
	}
	f.tables[pid] = t
	return t
}

// upperOf returns the directory that the files of an overlay are in, "" where it is not told as it is.
func upperOf(m *mountinfo.Info) string {
	for option := range strings.SplitSeq(m.VFSOptions, ",") {
		if dir, ok := strings.CutPrefix(option, "upperdir="); ok && !strings.Contains(dir, `\`) {
			return dir
		}
	}
	return ""
}

// parseMountID reads the mount that an open file is on (proc_pid_fdinfo(5)).
func parseMountID(raw []byte) (int, bool) {
	for line := range bytes.Lines(raw) {
		if digits, ok := bytes.CutPrefix(line, []byte("mnt_id:")); ok {
			n, err := strconv.Atoi(string(bytes.TrimSpace(digits)))
			return n, err == nil && n >= 0
		}
	}
	return 0, false
}

// name adds the name and the unit of the process.
func (f *finder) name(file *diskusage.DeletedFile) {
	if p, err := f.source.proc.Process(file.PID); err == nil {
		file.Process = p.Name
	}
	if group, err := f.source.proc.ControlGroup(file.PID); err == nil {
		file.Unit = serviceOf(group)
	}
}

// serviceOf returns the service of the system whose control group a path is in, "" if there is none.
func serviceOf(group string) string {
	unit := cgroup.Unit(group)
	if !strings.HasSuffix(unit, ".service") || strings.Contains(group, "/user@") {
		return ""
	}
	return unit
}

// gapsOf says which processes were not looked at.
func gapsOf(skipped []procfs.Skipped, cut bool) answer.Gaps {
	var gaps answer.Gaps
	denied, many := 0, 0
	var unread []error
	for _, p := range skipped {
		switch {
		case errors.Is(p.Err, fs.ErrPermission):
			denied++
		case errors.Is(p.Err, procfs.ErrManyFiles):
			many++
		default:
			unread = append(unread, p.Err)
		}
	}
	if denied > 0 {
		gaps.Note("deleted_open", fmt.Sprintf("the open files of %s could not be looked at; root sees those of all users", humanize.Count(denied, "process", "processes")))
	}
	if many > 0 {
		gaps.Note("deleted_open", humanize.Count(many, "process has", "processes have")+" too many files open to look at all")
	}
	if len(unread) > 0 {
		gaps.Note("deleted_open", fmt.Sprintf("not all open files of %s could be looked at: %s", humanize.Count(len(unread), "process", "processes"), answer.Reason(unread[0])))
	}
	if cut {
		gaps.Note("deleted_open", fmt.Sprintf("more than %d deleted files are open", maxDeleted))
	}
	return gaps
}
