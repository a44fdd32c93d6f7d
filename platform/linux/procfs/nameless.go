// SPDX-License-Identifier: Apache-2.0

//go:build linux

package procfs

import (
	"bytes"
	"cmp"
	"context"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A NamelessFile is one that was deleted and that a process still runs or has mapped.
type NamelessFile struct {
	PID  int
	Path string // that it had
	Held
}

// HeldFiles is [FS.OpenFiles] of all processes, and calls nameless besides with the deleted files that they run
// or have mapped, with a program twice. Those that are mapped take root; fs.ErrPermission of a process may be for want of that.
// What is read of them is within the same bounds.
func (fs FS) HeldFiles(ctx context.Context, visit func(OpenFile) bool, nameless func(NamelessFile) bool) (skipped []Skipped, err error) {
	return fs.files(ctx, nil, visit, nameless)
}

// maxMappings caps what is read of the mappings of a process, in bytes: some 40,000 of them.
const maxMappings = 4 << 20

// mappingsPerFile is how many mappings are read in the time of one open file.
const mappingsPerFile = 10

// nameless calls visit with the deleted files that a process runs or has mapped, until it returns false.
func (r *FileReader) nameless(c candidate, visit func(NamelessFile) bool) error {
	if err := r.afford(c); err != nil {
		return err
	}
	defer r.charge(c)()
	found := readEach(r.fs.memory, []int{c.pid}, func(int) int { return c.uid }, r.fs.namelessOf)[0]
	r.read[c.account()] += found.value.cost
	for _, f := range found.value.files {
		if !visit(f) {
			break
		}
	}
	if gone(found.err) {
		return nil
	}
	return found.err
}

// A namelessList is what was found of one process.
type namelessList struct {
	files []NamelessFile
	cost  int // in open files
}

// namelessOf looks at what a process runs and has mapped. That waits for the memory of the process, as
// [ErrStuck] says.
func (fs FS) namelessOf(pid int) (found namelessList, err error) {
	task, err := fs.taskOf(pid)
	if err != nil {
		return found, err
	}
	if found, err = fs.namelessOfTask(task); task != pid {
		for i := range found.files {
			found.files[i].PID = pid
		}
	}
	return found, err
}

// taskOf is the thread that tells what a process runs and has mapped: the first one tells nothing once it has ended.
func (fs FS) taskOf(pid int) (int, error) {
	if p, err := readWith(fs, parseProcessStat, strconv.Itoa(pid), "stat"); err != nil || !p.Headless {
		return pid, nil //nolint:nilerr // what is read next tells
	}
	return fs.Thread(pid)
}

func (fs FS) namelessOfTask(pid int) (found namelessList, err error) {
	number := strconv.Itoa(pid)
	// Who may not look at the program may not look at the mappings, and is told there.
	fs.look(&found, pid, "exe") //nolint:errcheck // see above
	raw, err := fs.readUpTo(maxMappings, number, "maps")
	if err != nil {
		return found, err
	}
	if len(raw) == maxMappings {
		err = ErrManyFiles
	}
	found.cost += bytes.Count(raw, []byte{'\n'}) / mappingsPerFile
	for _, area := range deletedAreas(raw) {
		err = cmp.Or(err, fs.look(&found, pid, "map_files/"+area))
	}
	return found, err
}

// look takes up what a process holds if that has no name.
func (fs FS) look(l *namelessList, pid int, name string) error {
	l.cost++
	f, err := fs.namelessAt(pid, name)
	switch {
	case gone(err):
		return nil
	case err == nil && f.Path != "":
		l.files = append(l.files, f)
	}
	return err
}

// namelessAt looks at what a process holds; Path is "" where that has a name.
func (fs FS) namelessAt(pid int, name string) (NamelessFile, error) {
	link, err := fs.Link(pid, name)
	if err != nil {
		return NamelessFile{}, err
	}
	path, deleted := DeletedPath([]byte(link))
	if !deleted {
		return NamelessFile{}, nil
	}
	held, err := fs.Held(pid, name)
	if err != nil || held.Links != 0 || held.Mode&unix.S_IFMT != unix.S_IFREG {
		return NamelessFile{}, err // somebody's file is called so
	}
	return NamelessFile{pid, string(path), held}, nil
}

// noFiles begin the paths of memory that is shared, which is called like a deleted file.
var noFiles = [][]byte{[]byte("/memfd:"), []byte("/dev/zero"), []byte("/SYSV")}

// DeletedPath returns the path that a file had by the link to it; false where the link is not that of a deleted
// file. Anyone may give a file a name that looks like one.
func DeletedPath(link []byte) (path []byte, deleted bool) {
	path, deleted = bytes.CutSuffix(link, []byte(deletedMark))
	if !deleted || len(path) == 0 || path[0] != '/' {
		return nil, false
	}
	for _, prefix := range noFiles {
		if bytes.HasPrefix(path, prefix) {
			return nil, false
		}
	}
	return path, true
}

// deletedAreas returns an area of each file in the mappings of a process that is called deleted
// (proc_pid_maps(5)), as /proc/PID/map_files has it.
func deletedAreas(raw []byte) (areas []string) {
	seen := map[string]bool{}
	for line := range bytes.Lines(raw) {
		area, file, deleted := deletedMapping(line)
		if deleted && !seen[file] {
			seen[file] = true
			areas = append(areas, area)
		}
	}
	return areas
}

// deletedMapping reads one mapping; file is its device and inode. A line that is not of that form is of no file.
func deletedMapping(line []byte) (area, file string, deleted bool) {
	m, ok := parseMapping(line)
	if _, deleted := DeletedPath(m.path); !ok || !deleted {
		return "", "", false
	}
	area, ok = areaName(string(m.area))
	return area, string(m.device) + " " + string(m.inode), ok
}

// areaName is the name that map_files has for an area: without the zeros that maps begins it with.
func areaName(area string) (string, bool) {
	start, end, _ := strings.Cut(area, "-")
	from, err := strconv.ParseUint(start, 16, 64)
	to, toErr := strconv.ParseUint(end, 16, 64)
	if err != nil || toErr != nil || from >= to {
		return "", false
	}
	return strconv.FormatUint(from, 16) + "-" + strconv.FormatUint(to, 16), true
}
