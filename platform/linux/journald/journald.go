// SPDX-License-Identifier: Apache-2.0

// Package journald reads the journal of systemd through journalctl(1), whose output it decodes as it
// arrives.
package journald

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/sanitize"
	"sentinel/internal/sysexec"
	"sentinel/platform/linux/release"
	"sentinel/platform/unix/hostfile"
)

const journalctl = "/usr/bin/journalctl"

// ErrNone reports that there is no journal on this machine.
var ErrNone = errors.New("this machine keeps no journal")

// A Journal is that of the machine below a root directory.
type Journal struct {
	Root   string // "/" on a live system
	Runner sysexec.Runner
}

// A Query says which entries are wanted.
type Query struct {
	Unit     string // checked name of a unit; empty for all
	Since    time.Time
	Until    time.Time // zero for now
	Priority int       // this one and more severe ones; below 0 for all
	Last     int       // only so many, the newest; 0 for all
	UIDs     []int     // of those who wrote, by the kernel; none for everybody
	NoUID    bool      // beside those of UIDs, what the kernel, audit and journald wrote, which may have none

	losses bool // only what journald says of messages that it dropped
}

// What is said of the program's own troubles, in bytes.
const maxComplaint = 64 << 10

// Read calls yield with the entries, the newest first, until it returns false or ctx ends, neither of
// which is an error. What journalctl complained about is returned as notes; with an error there may be entries
// all the same.
func (j Journal) Read(ctx context.Context, q Query, yield func(*Entry) bool) (notes []string, err error) {
	if !j.exists() {
		return nil, ErrNone
	}
	d := &decoder{yield: yield, since: q.Since.UnixMicro()}
	q.Since = j.back(q.Since, q.Until)
	lines := &sysexec.Lines{Longest: maxLine, Line: d.line}
	r, err := j.Runner.Run(ctx, sysexec.Command{
		Path: journalctl, Args: append(j.args(), q.args()...), MaxOutput: maxComplaint, OnStdout: lines.Add,
	})
	lines.End()
	notes = complaints(r.Stderr)
	switch {
	case ctx.Err() != nil || errors.Is(err, sysexec.ErrOutputTooLarge):
		return notes, nil
	case d.entries == 0 && slices.Contains(notes, noFiles):
		return nil, ErrNone
	case errors.Is(err, fs.ErrNotExist):
		return notes, ErrNone
	case err != nil:
		return notes, fmt.Errorf("read the journal: %w", err)
	case r.Exit != 0 && !slices.Contains(notes, NotPermitted):
		return notes, fmt.Errorf("journalctl ended with status %d", r.Exit)
	}
	return notes, nil
}

// args lets journalctl read the files of another root, where there is one. Every value follows an
// equals sign, so that none can be taken for an option (journalctl(1)).
func (j Journal) args() []string {
	if j.Root == "/" || j.Root == "" {
		return j.Namespaces()
	}
	return []string{"--root=" + j.Root}
}

// Namespaces are options of journalctl for what services with LogNamespace= write (systemd.exec(5)), which is in
// folders of their own beside that of this machine. There are none without such a folder: the option is of systemd 245.
func (j Journal) Namespaces() []string {
	own, err := release.New(j.Root).MachineID()
	if err != nil {
		return nil
	}
	for _, folder := range []string{keptFolder, volatileFolder} {
		names, _ := hostfile.Names(filepath.Join(j.Root, folder), maxFolders) //nolint:errcheck // none is none
		if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, hex.EncodeToString(own[:])+".") }) {
			return []string{"--namespace=*"}
		}
	}
	return nil
}

// args leave out --all, with which journalctl would print fields of any length: a dozen entries of any user would
// take a gigabyte and half a minute.
func (q Query) args() []string {
	args := []string{"--no-pager", "--output=json", "--reverse", "--output-fields=" + fields, "--since=" + seconds(q.Since)}
	if !q.Until.IsZero() {
		args = append(args, "--until="+seconds(q.Until))
	}
	if q.Last > 0 {
		args = append(args, "--lines="+strconv.Itoa(q.Last))
	}
	if q.Priority >= 0 {
		args = append(args, "--priority="+strconv.Itoa(q.Priority))
	}
	switch q.Unit {
	case "":
	case Kernel:
		args = append(args, "_TRANSPORT=kernel")
	default:
		args = append(args, "--unit="+q.Unit)
	}
	for _, uid := range q.UIDs {
		args = append(args, "_UID="+strconv.Itoa(uid))
	}
	if q.losses {
		args = append(args, losses...)
	}
	if q.NoUID {
		args = append(args, "+", "_TRANSPORT=kernel", "_TRANSPORT=audit", "_TRANSPORT=driver")
	}
	return args
}

// Kernel stands for the kernel in place of a unit.
const Kernel = "kernel"

// seconds is a moment as systemd.time(7) has it. What lies before 1970 has no entries.
func seconds(t time.Time) string {
	if t.Unix() < 0 {
		t = time.Unix(0, 0)
	}
	return fmt.Sprintf("@%d.%06d", t.Unix(), t.Nanosecond()/1000)
}

// Oldest returns the time of the oldest entry that there is, or the zero time.
func (j Journal) Oldest(ctx context.Context) time.Time {
	var oldest time.Time
	d := &decoder{yield: func(e *Entry) bool {
		oldest = e.Time()
		return false
	}}
	lines := &sysexec.Lines{Longest: maxLine, Line: d.line}
	_, err := j.Runner.Run(ctx, sysexec.Command{
		Path: journalctl, Args: append(j.args(), "--no-pager", "--output=json", "--output-fields=PRIORITY"), MaxOutput: maxComplaint, Timeout: callLimit, OnStdout: lines.Add,
	})
	if err != nil {
		return time.Time{}
	}
	return oldest
}

// callLimit bounds the calls that take milliseconds.
const callLimit = 5 * time.Second

// Bounds of the lists of units and of user IDs, in bytes. A user may have 65,536 subordinate IDs.
const (
	maxUnits = 1 << 20
	maxUIDs  = 4 << 20
)

// Units lists the units that have ever written into the journal.
func (j Journal) Units(ctx context.Context) ([]string, error) {
	return j.values(ctx, "_SYSTEMD_UNIT", maxUnits)
}

// UIDs lists the user IDs that have ever written into the journal.
func (j Journal) UIDs(ctx context.Context) ([]int, error) {
	values, err := j.values(ctx, "_UID", maxUIDs)
	var uids []int
	for _, value := range values {
		if uid, err := strconv.ParseUint(value, 10, 32); err == nil && uid < 1<<32-1 { // the last one is no user's
			uids = append(uids, int(uid))
		}
	}
	slices.Sort(uids)
	return uids, err
}

// values lists what a field has ever been.
func (j Journal) values(ctx context.Context, field string, most int) ([]string, error) {
	r, err := j.Runner.Run(ctx, sysexec.Command{
		Path: journalctl, Args: append(j.args(), "--no-pager", "--field="+field), MaxOutput: most, Timeout: callLimit,
	})
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(r.Stdout)), nil
}

// Time is when journald got the entry.
func (e *Entry) Time() time.Time { return time.UnixMicro(e.Realtime) }

// Folders of the journal: kept, and lost at the next boot (systemd-journald.service(8)).
const (
	keptFolder     = "var/log/journal"
	volatileFolder = "run/log/journal"
)

// maxFolders bounds how many names of a folder are looked at.
const maxFolders = 200

// Volatile reports whether the journal does not outlast a boot.
func (j Journal) Volatile() bool { return !j.has(keptFolder) && j.has(volatileFolder) }

func (j Journal) exists() bool { return j.has(keptFolder) || j.has(volatileFolder) }

// has reports whether a folder holds the journal of this machine. It does so too where the caller
// may not look, or the machine has no id.
func (j Journal) has(folder string) bool {
	names, err := hostfile.Names(filepath.Join(j.Root, folder), maxFolders)
	own, idErr := release.New(j.Root).MachineID()
	return errors.Is(err, fs.ErrPermission) || idErr != nil && len(names) > 0 || slices.Contains(names, hex.EncodeToString(own[:]))
}

// Others counts the journals of other machines: folders of other ids, as after a machine was cloned or
// a disk was moved, and what was received from elsewhere.
func (j Journal) Others() int {
	own, err := release.New(j.Root).MachineID()
	if err != nil {
		return 0
	}
	n := 0
	for _, folder := range []string{keptFolder, volatileFolder} {
		names, _ := hostfile.Names(filepath.Join(j.Root, folder), maxFolders) //nolint:errcheck // none is none
		for _, name := range names {
			if !strings.HasPrefix(name, hex.EncodeToString(own[:])) {
				n++
			}
		}
	}
	return n
}

// maxComplaintLine is room for the path of a file of the journal and what is wrong with it, in runes.
const maxComplaintLine = 220

// complaints are the first lines of stderr, safe to show, each once. Hints about groups become one
// sentence.
func complaints(stderr []byte) []string {
	var notes []string
	seen := map[string]bool{}
	for line := range bytes.Lines(stderr) {
		text := sanitize.Text(strings.TrimSpace(string(line)), maxComplaintLine)
		switch {
		case strings.HasPrefix(text, "Hint: You are currently not seeing messages"), strings.HasPrefix(text, "No journal files were opened due to insufficient permissions"):
			text = NotPermitted
		case strings.HasPrefix(text, "Users in ") || strings.HasPrefix(text, "Pass -q") || strings.HasPrefix(text, "Hint:") || text == "":
			continue
		}
		if !seen[text] && len(notes) < 3 {
			notes = append(notes, text)
			seen[text] = true
		}
	}
	return notes
}

// NotPermitted is the note where the caller sees only what own processes wrote.
const NotPermitted = "messages of the system and of other users are not readable without root or the group systemd-journal"

// noFiles is what journalctl says where journald has never run.
const noFiles = "No journal files were found."

// maxLine bounds how much of an entry is decoded, in bytes: anybody can send one with a thousand messages.
const maxLine = 1 << 20

// A decoder hands the entries of lines on.
type decoder struct {
	yield   func(*Entry) bool
	since   int64 // microseconds since 1970; older ones are left out
	scanner scanner
	entry   Entry
	entries int
}

// line takes the next line, of which the beginning may be all that there is.
func (d *decoder) line(line []byte, cut bool) bool {
	if !d.scanner.scan(line, &d.entry) || d.entry.Realtime <= 0 {
		return true
	}
	d.entries++
	if d.entry.Realtime < d.since {
		return true
	}
	d.entry.Cut = cut
	return d.yield(&d.entry)
}
