// SPDX-License-Identifier: Apache-2.0

//go:build linux

package procfs

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// userFiles bounds the open files that are read of all processes of one ordinary user, under whichever
// user IDs they run ([accounts]), and serviceFiles those of an account of the system other than root: a proxy
// has as many as others like. Anyone may open hundreds of thousands and share them among hundreds of processes at
// no cost to himself; each costs a few microseconds to look at.
const (
	userFiles    = 50_000
	serviceFiles = 250_000
)

// accountsInTime is how many accounts use up the time for all of their kind: none takes more than its share, so
// that who gets into one service hides nothing of another.
const accountsInTime = 3

// Why the open files of a process were not read, or not all of them, besides want of permission
// (fs.ErrPermission).
var (
	ErrManyFiles = errors.New("the processes of its user have too many files open to look at all")
	ErrFilesTime = errors.New("looking at the open files of the processes took too long")
)

// Skipped is a process whose open files were not all read.
type Skipped struct {
	PID int
	UID int // as [FS.UID] tells, or that of the user whose subordinate ID it is
	Err error
}

// An OpenFile is one entry of /proc/PID/fd, or of that of a thread that has files of its own, or a file that is
// registered with an io_uring among those: see [OpenFile.Registered].
type OpenFile struct {
	PID, FD int
	Task    int    // the thread that has it open: PID, or another one with files of its own
	Link    []byte // what it refers to, proc_pid_fd(5); valid until the visit returns
	from    *FileReader
}

// Socket returns the inode of a socket, which sock_diag and /proc/net name too.
func (f OpenFile) Socket() (inode uint64, ok bool) { return socketInode(f.Link) }

// Name is what it is called below the directory of its process in /proc. Nothing is there for one that is registered.
func (f OpenFile) Name() string { return f.name("fd") }

func (f OpenFile) name(dir string) string {
	return nameOf(f.PID, f.Task, dir) + "/" + strconv.Itoa(f.FD)
}

// nameOf is a file of a thread, below the directory of its process.
func nameOf(pid, tid int, file string) string {
	if tid == pid {
		return file
	}
	return "task/" + strconv.Itoa(tid) + "/" + file
}

// Held returns what the kernel remembers of the file: see [StatHeld]. Of one that is registered the error is
// [ErrRegistered].
func (f OpenFile) Held() (Held, error) {
	if f.Registered() {
		return Held{}, ErrRegistered
	}
	return f.from.fs.Held(f.PID, f.Name())
}

// maxAbout caps what is read about an open file, in bytes.
const maxAbout = 4096

// About returns what the kernel tells of the file (proc_pid_fdinfo(5)), cut after some thousand bytes;
// nothing where that is not told in time, or the file is registered. The kernel makes up a line for each lock on the file before
// it returns the first byte, and anybody may take hundreds of thousands of locks.
func (f OpenFile) About() []byte {
	if f.Registered() {
		return nil
	}
	f.from.told = true
	fs, user := f.from.fs, f.from.asked.uid
	about, _ := fs.memory.readOne(f.Task, func(int) int { return user }, func(int) ([]byte, error) { //nolint:errcheck // see above
		return fs.readUpTo(maxAbout, strconv.Itoa(f.PID), f.name("fdinfo"))
	})
	return about
}

// OpenFiles visits the open files of the processes with the given PIDs, or of all if pids is nil,
// until visit returns false. It reads within the bounds of a [FileReader], and takes nobody's word
// for who matters: root's processes come first, then those of the accounts of the system one by one, then user by
// user, those with the fewest files first; so an account can have its own processes skipped, and not those of others.
// The error is that of ctx or of /proc itself; what could not be read is in skipped.
//
// Do not call it while holding a lock that others wait for.
func (fs FS) OpenFiles(ctx context.Context, pids []int, visit func(OpenFile) bool) (skipped []Skipped, err error) {
	return fs.files(ctx, pids, visit, nil)
}

// files is [FS.OpenFiles], or [FS.HeldFiles] where nameless is not nil.
func (fs FS) files(ctx context.Context, pids []int, visit func(OpenFile) bool, nameless func(NamelessFile) bool) (skipped []Skipped, err error) {
	r, err := fs.FileReader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	r.unopened = nameless != nil
	if pids == nil {
		if pids, err = r.dir.numbers(nil); err != nil {
			return nil, err
		}
	}
	more := true
	return r.each(ctx, pids, func(c candidate) error {
		err := r.files(c, func(f OpenFile) bool {
			more = visit(f)
			return more
		})
		if nameless == nil || !more {
			return err
		}
		return cmp.Or(err, r.nameless(c, func(f NamelessFile) bool {
			more = nameless(f)
			return more
		}))
	}, func() bool { return more })
}

// A FileReader reads the open files of processes, one process after the other, within bounds for all
// of them: a time for root, one for the other accounts of the system and one for ordinary users, and for each
// account but root a number of files and a share of that time. Processes that keep others
// waiting are left out: see [FS.Processes].
type FileReader struct {
	fs      FS
	dir     dirHandle
	read    map[int]int            // files, by account
	spent   map[int]time.Duration  // by account
	all     map[kind]time.Duration // by kind of account
	asking  time.Duration          // whose processes are
	counted bool                   // the kernel tells how many files a process has open
	fds     []int
	entries []byte
	link    [128]byte
	asked   candidate // whose files are being read
	told    bool      // about one of them, which may have taken long
	// rings says that the kernel tells what is registered with an io_uring, once that was asked for.
	rings, asksRings bool
	// unopened has processes looked at that have no file open, too.
	unopened bool
	unasked  int // how many processes with few files may still be taken for the system's; see fewFiles
}

// FileReader begins to read. Close it at the end.
func (fs FS) FileReader() (*FileReader, error) {
	dir, err := openDir(fs.dir)
	if err != nil {
		return nil, err
	}
	return &FileReader{
		fs: fs, dir: dir, read: map[int]int{}, spent: map[int]time.Duration{}, all: map[kind]time.Duration{},
		counted: dir.size("self/fd") > 0, entries: make([]byte, directoryBuffer),
	}, nil
}

// Close ends reading.
func (r *FileReader) Close() { r.dir.close() }

// from is where a process is read.
func (r *FileReader) from(pid int) dirHandle { return r.fs.in(r.dir, pid) }

// Files visits the open files of a process until visit returns false. A process that ended has
// none. The error, [ErrManyFiles], [ErrFilesTime] or fs.ErrPermission, says that there may be more.
func (r *FileReader) Files(pid int, visit func(OpenFile) (more bool)) error {
	return r.files(r.candidate(pid), visit)
}

func (r *FileReader) files(c candidate, visit func(OpenFile) (more bool)) error {
	more := true
	of := func(tid int) error {
		return r.open(c, tid, func(fd int) error {
			return r.links(c, tid, fd, func(n int, ring bool, link []byte) bool {
				if ring {
					n = registered
				}
				more = visit(OpenFile{PID: c.pid, FD: n, Task: tid, Link: link, from: r})
				return more
			})
		})
	}
	err := of(c.pid)
	for _, tid := range r.from(c.pid).ownFiles(c.pid, r.entries) {
		if !more {
			break
		}
		err = cmp.Or(err, of(tid))
	}
	return err
}

// each calls inspect for processes in the order of [FileReader.affordable] for as long as goOn says so.
func (r *FileReader) each(ctx context.Context, pids []int, inspect func(candidate) error, goOn func() bool) (skipped []Skipped, err error) {
	pids, skipped = r.fs.answering(pids)
	order, err := r.affordable(ctx, pids)
	if err != nil {
		return skipped, err
	}
	for _, c := range order {
		if err := ctx.Err(); err != nil {
			return skipped, err
		}
		if err := inspect(c); err != nil {
			if errors.Is(err, ErrManyFiles) { // SocketOwners asks for the users of few
				c = r.whose(c)
			}
			skipped = append(skipped, Skipped{c.pid, c.uid, err})
		}
		if !goOn() {
			break
		}
	}
	return skipped, nil
}

// open calls look with the open directory of a process's files, as a thread of it has them.
func (r *FileReader) open(c candidate, tid int, look func(fd int) error) error {
	if err := r.afford(c); err != nil {
		return err
	}
	name := "/" + nameOf(c.pid, tid, "fd")
	from := r.from(c.pid)
	if from == nowhere {
		return ErrStuck
	}
	fd, err := from.open(c.pid, name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err == nil {
		err = look(fd)
		unix.Close(fd) //nolint:errcheck // only read from
	}
	if gone(err) {
		return nil
	}
	return err
}

// links calls visit for each file n in the directory fd of a thread, and for what is registered with it where that is a
// ring, until it returns false.
func (r *FileReader) links(c candidate, tid, fd int, visit func(n int, ring bool, link []byte) (more bool)) (err error) {
	charge := r.charge(c)
	defer func() { charge() }()
	r.asked = c
	if r.fds, err = dirHandle(fd).numbersWith(r.entries, r.fds[:0]); err != nil {
		return err
	}
	var denied error
	for i, n := range r.fds {
		if i%256 == 255 || r.told {
			charge()
			r.told = false
		}
		if err := r.afford(c); err != nil {
			return err
		}
		r.read[c.account()]++
		length, err := readlinkat(fd, n, "", r.link[:])
		switch {
		case err != nil && !gone(err):
			denied = err
		case err != nil:
		case !visit(n, false, r.link[:length]):
			return denied
		case string(r.link[:length]) == ringLink:
			charge()
			more, err := r.registeredWith(c, tid, n, func(link []byte) bool { return visit(n, true, link) })
			charge = r.charge(c)
			if denied = cmp.Or(denied, err); !more {
				return denied
			}
		}
	}
	return denied
}

// charge begins to take the time for a process; what it returns adds what was spent since it was called last.
func (r *FileReader) charge(c candidate) func() {
	began := time.Now()
	return func() {
		now := time.Now()
		r.spent[c.account()] += now.Sub(began)
		r.all[c.kind()] += now.Sub(began)
		began = now
	}
}

// afford says why no further file of a process is read, if so.
func (r *FileReader) afford(c candidate) error {
	kind, most := c.kind(), userFiles
	if kind == ofService {
		most = serviceFiles
	}
	switch {
	case kind != ofRoot && (r.read[c.account()] >= most || r.spent[c.account()] >= r.fs.filesTime/accountsInTime):
		return ErrManyFiles
	case r.all[kind] >= r.fs.filesTime:
		return ErrFilesTime
	default:
		return nil
	}
}

// gone reports that a process or a file of it has ended.
func gone(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) }
