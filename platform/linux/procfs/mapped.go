// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Why it is not known whether a process has its program in its memory.
var (
	errManyMappings   = errors.New("it has more mappings than are looked at")
	errProgramChanges = errors.New("its program changes while it is looked at")
)

const (
	maxMaps       = 16 << 20 // bytes of /proc/PID/maps; 65,530 mappings, the most without root's leave, take a third of it
	mapsBuffer    = 8 << 10  // more than a line with a path that /proc/PID/exe tells, in bytes
	mappedTries   = 6        // looks at a process that goes on to other programs meanwhile
	mappedCertain = 2        // looks that have to agree
)

// Unmapped reports whether a process has nothing in its memory of the file that /proc/PID/exe leads to. In a user
// namespace of their own anybody has it lead to any program, once the memory has nothing of the last one
// (PR_SET_MM_MAP of prctl(2)), and a process outside can share that memory. So all are looked at but root's,
// which may be called what root likes: in no namespace of a user's does anybody become root of this one.
//
// That something is mapped proves no more than that the file was: code can be loaded into every program. The error
// is [ErrStuck] where the memory is kept from being read, and fs.ErrNotExist once the process has ended.
func (f FS) Unmapped(pid int) (bool, error) {
	if f.dir != "/proc" || f.ofRoot(pid) {
		return false, nil
	}
	only := readEach(f.memory, []int{pid}, f.userOf, f.unmapped)[0]
	return only.value, only.err
}

func (f FS) ofRoot(pid int) bool {
	uid, err := f.ownerOf(pid, "")
	return err == nil && uid == 0
}

// unmapped looks until two looks agree: a program that begins has its name before its memory, and is not
// there in the first of them alone.
func (f FS) unmapped(pid int) (bool, error) {
	without := 0
	for range mappedTries {
		before, err := f.Link(pid, "exe")
		if err != nil {
			return false, err
		}
		lacks, err := f.mapsLack(pid, before)
		if err != nil {
			return false, err
		}
		after, err := f.Link(pid, "exe")
		switch {
		case err != nil:
			return false, err
		case before != after:
			without = 0
		case !lacks:
			return false, nil
		default:
			without++
		}
		if without == mappedCertain {
			return true, nil
		}
	}
	return false, errProgramChanges
}

func (f FS) mapsLack(pid int, file string) (bool, error) {
	maps, err := f.openMaps(pid)
	if err != nil {
		return false, err
	}
	defer maps.Close() //nolint:errcheck // only read from
	return lacks(maps, file)
}

// openMaps opens the file as readUpTo does, for who stops reading where it has found what it looks for.
func (f FS) openMaps(pid int) (*os.File, error) {
	path, err := f.path(strconv.Itoa(pid), "maps")
	if err != nil {
		return nil, err
	}
	name := f.name(strconv.Itoa(pid), "maps")
	fd, err := retry(func() (int, error) { return syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// lacks reports that code is mapped (proc_pid_maps(5)), and nothing of a file. Without any code a program
// has yet to begin. The path is compared, not the device and the inode: of a file in an overlay or a subvolume
// these are others in maps than elsewhere. Which of the paths that are too long the program has is not known: any will do.
func lacks(maps io.Reader, file string) (bool, error) {
	found, code := false, false
	file = strings.ReplaceAll(file, "\n", `\012`) // as maps has it
	err := eachMapping(maps, func(m mapping) bool {
		found = string(m.path) == file || IsTooLong(file) && len(m.path) > maxPath
		code = code || m.runs() && string(m.path) != "[vsyscall]" // which every process has
		return !found
	})
	return code && !found && err == nil, err
}

// eachMapping calls visit with each line until it returns false, with the first part of one that is very long.
func eachMapping(maps io.Reader, visit func(mapping) bool) error {
	bounded := &io.LimitedReader{R: maps, N: maxMaps}
	lines, inside := bufio.NewReaderSize(bounded, mapsBuffer), false
	for {
		line, err := lines.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		switch {
		case errors.Is(err, io.EOF) && bounded.N <= 0:
			return errManyMappings
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !long:
			return err
		}
		if m, _ := parseMapping(line); !inside && !visit(m) {
			return nil
		}
		inside = long
	}
}

// Loaded returns the path of the first file that a process runs code of and that odd picks, "" for none. What is
// written into shared memory, as compilers in programs do, is no file that was loaded. The errors are as those of
// [FS.Unmapped].
func (f FS) Loaded(pid int, odd func(file string) bool) (string, error) {
	only := readEach(f.memory, []int{pid}, f.userOf, func(pid int) (string, error) {
		maps, err := f.openMaps(pid)
		if err != nil {
			return "", err
		}
		defer maps.Close() //nolint:errcheck // only read from
		return loads(maps, odd)
	})[0]
	return only.value, only.err
}

func loads(maps io.Reader, odd func(file string) bool) (file string, err error) {
	err = eachMapping(maps, func(m mapping) bool {
		if name := strings.ReplaceAll(string(m.path), `\012`, "\n"); m.runs() && m.private() && odd(name) {
			file = name
		}
		return file == ""
	})
	return file, err
}

// A mapping is an area of the memory of a process (proc_pid_maps(5)); path is empty for memory without a name.
type mapping struct{ area, rights, offset, device, inode, path []byte }

// parseMapping reads a line, and reports whether it has all fields.
func parseMapping(line []byte) (m mapping, ok bool) {
	rest := bytes.TrimSuffix(line, []byte("\n"))
	for _, field := range []*[]byte{&m.area, &m.rights, &m.offset, &m.device, &m.inode} {
		*field, rest, ok = bytes.Cut(rest, []byte(" "))
	}
	m.path = bytes.TrimLeft(rest, " ")
	return m, ok
}

// runs reports whether code may run there.
func (m mapping) runs() bool { return len(m.rights) > 2 && m.rights[2] == 'x' }

// private reports whether what is written there stays in the process, as for what a loader maps.
func (m mapping) private() bool { return len(m.rights) > 3 && m.rights[3] == 'p' }
