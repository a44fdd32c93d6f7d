// SPDX-License-Identifier: Apache-2.0

package mounts

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"

	"sentinel/platform/unix/hostfile"
)

// MaxPath is the longest path of a mount that is told, in bytes: that of a directory which a system call
// takes (PATH_MAX), and a name in it (NAME_MAX). A walk comes to no other.
const MaxPath = 4096 + 256

// Bounds of a table. One user can have 1,000 mounts (mount_max of fuse.conf(5)), and give each a
// line as long as they like, by moving what they are in below deep folders of long names.
const (
	maxRead      = 128 << 20 // bytes that are read, of which few are kept
	maxReadOther = 32 << 20
	maxKept      = 32 << 20 // bytes of text that are kept; of what users serve, as many again
	maxMounts    = 100_000  // what the kernel lets a namespace have (fs.mount-max)
)

// errRead reports that more would have to be read; what was read is told beside it.
var errRead = errors.New("more mounts than are read")

// readTable reads at most limit bytes of mountinfo. What was read before errRead comes with it. Errors of
// the library are dropped, since they quote the line: that is text of the host.
func readTable(r io.Reader, limit int64) (table []*mountinfo.Info, err error) {
	in, left := newLines(&io.LimitedReader{R: r, N: limit + 1}), newRoom()
	parsed := parseEach(in, func(m *mountinfo.Info) error {
		if err = complete(m, in.taken()); err == nil {
			err = left.take(m)
		}
		table = append(table, m)
		return err
	})
	switch err = cmp.Or(err, in.err); {
	case errors.Is(err, errRead):
		return table, err
	case err != nil:
		return nil, err
	case parsed != nil:
		return nil, ErrFormat
	}
	return table, nil
}

// room is what is left of the bounds of a table, in bytes and mounts.
type room struct{ others, users, mounts int }

func newRoom() room { return room{maxKept, maxKept, maxMounts} }

// take charges a mount. Whatever users mount takes no room from others.
func (r *room) take(m *mountinfo.Info) error {
	if r.mounts--; r.mounts < 0 {
		return hostfile.ErrTooLarge
	}
	bytes := detach(m)
	if !ofUser(m) {
		r.others -= bytes
	} else if r.users -= bytes; r.users < 0 {
		m.Root, m.Mountpoint, m.Source = "", "", ""
	}
	if r.others < 0 {
		return hostfile.ErrTooLarge
	}
	return nil
}

// detach lets go of the line that the texts of a mount are parts of, and returns their bytes.
func detach(m *mountinfo.Info) (bytes int) {
	for _, text := range []*string{&m.Root, &m.Mountpoint, &m.Options, &m.Optional, &m.FSType, &m.Source, &m.VFSOptions} {
		*text = strings.Clone(*text)
		bytes += len(*text)
	}
	return bytes
}

// ofUser reports whether an ordinary user has mounted a file system of a process, by which fusermount3(1)
// gives nobody devices or programs with the set-user-ID bit.
func ofUser(m *mountinfo.Info) bool {
	return IsFUSE(m) && m.FSType != "fuseblk" && Mounter(m) != 0 && HasOption(m.Options, "nosuid") && HasOption(m.Options, "nodev")
}

// IsFUSE reports whether a process serves a file system: fuse, fuseblk or fuse.NAME.
func IsFUSE(m *mountinfo.Info) bool {
	return m.FSType == "fuse" || m.FSType == "fuseblk" || strings.HasPrefix(m.FSType, "fuse.")
}

// Connection is the number by which the kernel tells a file system of FUSE from others, in /proc/PID/fdinfo/N of its
// server and below /sys/fs/fuse/connections: that of its device as one (MKDEV of include/linux/kdev_t.h). The device is
// a disk for fuseblk, whose minor number may be that of another file system, which has no disk.
func Connection(m *mountinfo.Info) uint64 {
	d := DeviceOf(m)
	return uint64(d.Major<<20 | d.Minor)
}

// Mounter returns the number of the user who mounted a file system of FUSE, in the namespace that it was
// mounted in; root's where that is not told.
func Mounter(m *mountinfo.Info) (uid int) {
	for option := range strings.SplitSeq(m.VFSOptions, ",") {
		if digits, ok := strings.CutPrefix(option, "user_id="); ok {
			uid, _ = strconv.Atoi(digits) //nolint:errcheck // then it counts as root's
		}
	}
	return uid
}

// Bounds of a line, in bytes.
const (
	maxLine     = 4 << 20 // longer ones lose their middle, which is in their paths
	lineHead    = 256     // of a longer one: three numbers
	lineTail    = 2 << 20 // of a longer one: all behind its paths
	maxScanned  = 64<<10 - 2
	linesBuffer = 4 << 10 // what the kernel hands out at once
)

// lines reads the lines of a table, of any length, in memory that is bounded, and hands on those that the library
// takes: it reads no more than 64 KiB of one.
type lines struct {
	bounded *io.LimitedReader
	in      *bufio.Reader
	line    []byte
	rest    string    // of the line that is handed on
	long    []tooLong // of each line that was handed on and is not parsed yet
	err     error     // that ended the table, but for its end
}

func newLines(r *io.LimitedReader) *lines {
	return &lines{bounded: r, in: bufio.NewReaderSize(r, linesBuffer)}
}

func (l *lines) Read(p []byte) (int, error) {
	if l.rest == "" {
		if err := l.hand(); err != nil {
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// hand makes the next line the one that is handed on.
func (l *lines) hand() error {
	line, cut, err := l.next()
	switch {
	case l.bounded.N == 0 && l.in.Buffered() == 0:
		err = errRead // the line may be half of one
	case errors.Is(err, io.EOF):
		return io.EOF
	}
	var is tooLong
	if err == nil {
		line, is, err = withoutLong(line, cut)
	}
	if err != nil {
		l.err = err
		return io.EOF
	}
	l.rest, l.long = line+"\n", append(l.long, is)
	return nil
}

// taken returns what of the next line that is parsed was too long.
func (l *lines) taken() (is tooLong) {
	is, l.long = l.long[0], l.long[1:]
	return is
}

// next returns a line without its end, until the next call, and whether its middle was left out. A
// last line without an end counts.
func (l *lines) next() (line string, cut bool, err error) {
	l.line = l.line[:0]
	for {
		part, err := l.in.ReadSlice('\n')
		if l.line = append(l.line, part...); len(l.line) > maxLine {
			tail := l.line[len(l.line)-lineTail:]
			l.line, cut = append(append(l.line[:lineHead], ' '), tail...), true
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(l.line) > 0:
			return string(l.line), cut, nil
		default:
			return strings.TrimSuffix(string(l.line), "\n"), cut, err
		}
	}
}

// complete takes the paths from a mount that stood for longer ones. The library reads anything but a number as 0.
func complete(m *mountinfo.Info, long tooLong) error {
	if !strings.HasPrefix(m.Mountpoint, "/") || !deviceNumber(m.Major) || !deviceNumber(m.Minor) {
		return ErrFormat
	}
	if long.root {
		m.Root = ""
	}
	if long.point {
		m.Mountpoint = ""
	}
	return nil
}

func deviceNumber(n int) bool { return n >= 0 && uint64(n) <= math.MaxUint32 }

// Fields of a line (proc_pid_mountinfo(5)).
const (
	fieldRoot    = 3
	fieldPoint   = 4
	fieldOptions = 5
	fieldsBehind = 4 // the separator, the type, the source and the options of the file system
)

// tooLong says which paths of a mount are longer than MaxPath.
type tooLong struct{ root, point bool }

// withoutLong returns a line that the library takes: with "/" for each path that is longer than MaxPath, and without
// the last options of an overlay of hundreds of layers.
func withoutLong(line string, cut bool) (string, tooLong, error) {
	f := strings.Split(line, " ")
	at := optionsAt(f)
	if at <= fieldPoint {
		return "", tooLong{}, ErrFormat
	}
	root, point := f[fieldRoot], f[at-1]
	is := tooLong{root: isLong(root), point: isLong(point)}
	if cut { // a path that is next to the cut is part of one
		blanks := strings.Count(line[:lineHead], " ")
		is = tooLong{root: is.root || blanks <= fieldRoot, point: is.point || at-1 <= blanks+1}
	}
	if is != (tooLong{}) || cut {
		line = strings.Join(append([]string{f[0], f[1], f[2], orRoot(root, is.root), orRoot(point, is.point)}, f[at:]...), " ")
	}
	if len(line) > maxScanned {
		line = line[:max(0, strings.LastIndexByte(line[:maxScanned], ','))]
	}
	return line, is, nil
}

func orRoot(path string, is bool) string {
	if is {
		return "/"
	}
	return path
}

// isLong reports whether a path has more than MaxPath bytes: each backslash begins an escape of four.
func isLong(path string) bool { return len(path)-3*strings.Count(path, `\`) > MaxPath }

// PlaceOf names where a file system is mounted, for people.
func PlaceOf(m *mountinfo.Info) string {
	return cmp.Or(m.Mountpoint, "a path that is too long to tell")
}

// optionsAt finds the options of a mount from behind, since a cut line has another number of fields before
// them; 0 where there are none.
func optionsAt(f []string) int {
	at := len(f) - fieldsBehind
	for at > fieldOptions && f[at] != "-" {
		at--
	}
	for at--; at > fieldPoint && isOptional(f[at]); at-- {
	}
	return max(at, 0)
}

// isOptional reports whether a field is one of those that are there or not: "shared:1".
func isOptional(field string) bool {
	tag, _, _ := strings.Cut(field, ":")
	return tag == "shared" || tag == "master" || tag == "propagate_from" || tag == "unbindable"
}
