// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"bytes"
	"fmt"
	"strconv"

	"sentinel/internal/lazyregexp"
	"sentinel/platform/linux/journald"
)

// A processLine is a line that the kernel writes about a process. Groups called uid are its user; others are what
// that user chose: the name of the process, of up to 15 bytes of any kind, and the names of its files and control
// groups. What follows a name is matched to its end, so that no name can be taken for it.
type processLine struct {
	says string // in every such line
	form *lazyregexp.Regexp
}

var processLines = []processLine{
	// mm/oom_kill.c, __oom_kill_process; UID since Linux 5.4
	{"Killed process ", lazyregexp.New(`(?s)^(?:[A-Z][a-z ]+(?:\(oom_kill_allocating_task\))?: )?Killed process \d+ \((.*)\) total-vm:\d+kB, [a-z:,\-0-9kB ]*(?:, UID:(?P<uid>\d+) pgtables:\d+kB oom_score_adj:-?\d+)?$`)},
	// dump_oom_summary
	{"oom-kill:constraint=", lazyregexp.New(`(?s)^oom-kill:constraint=(.*),pid=\d+,uid=(?P<uid>\d+)$`)},
	{" invoked oom-killer: ", lazyregexp.New(`(?s)^(.{0,15}) invoked oom-killer: gfp_mask=`)},
	// arch/x86/mm/fault.c, show_signal_msg; the file may have any name
	{"]: segfault at ", lazyregexp.New(`(?s)^(.{0,15})\[\d+\]: segfault at [0-9a-f]+ ip [0-9a-f]+ sp [0-9a-f]+ error [0-9a-f]+(?: in (.*)|.*)$`)},
	// arch/x86/kernel/traps.c, show_signal
	{"traps: ", lazyregexp.New(`(?s)^traps: (.{0,15})\[\d+\] [a-z 0-9:]+? ip:[0-9a-f]+ sp:[0-9a-f]+ error:[0-9a-f]+(?: in (.*))?$`)},
	// kernel/audit.c; a value that somebody chose has neither quotes nor blanks within
	{"audit: type=", lazyregexp.New(`(?s)^audit: type=\d+ audit\([0-9.:]+\): (?:[^ ]+ )*?(?:fs)?uid=(?P<uid>\d+)(?: |$)`)},
}

// aboutProcess finds the user of the process that a line of the kernel is about, or a number below 0, and the line
// without what that user chose, or nil where that is the line.
func aboutProcess(line []byte) (uid int, kind []byte) {
	for _, p := range processLines {
		if !bytes.Contains(line, []byte(p.says)) {
			continue
		}
		form := p.form.Get()
		if at := form.FindSubmatchIndex(line); at != nil {
			return takeApart(line, at, form.SubexpIndex("uid"))
		}
	}
	return -1, nil
}

// takeApart is given the places of groups, of which one is the user.
func takeApart(line []byte, at []int, user int) (uid int, kind []byte) {
	uid, from := -1, 0
	for i := 1; i < len(at)/2; i++ {
		begin, end := at[2*i], at[2*i+1]
		switch n, err := strconv.ParseUint(string(line[max(begin, 0):max(end, 0)]), 10, 32); {
		case begin < 0:
		case i != user:
			kind, from = append(append(kind, line[from:begin]...), '#'), end
		case err == nil:
			uid = int(n)
		}
	}
	if kind != nil {
		kind = append(kind, line[from:]...)
	}
	return uid, kind
}

// coredumps are the units of systemd-coredump(8), which runs as root and says of whom a process was. Where it has
// become that user before it writes, the kernel tells.
const coredumps = "systemd-coredump@"

// concerns finds the user whose process an entry of the system is about, as far as that cannot be forged, or a number
// below 0, and the text without what that user chose, or nil.
func concerns(e *journald.Entry) (uid int, kind []byte) {
	switch {
	case e.Kernel:
		return aboutProcess(e.Message)
	case ofDump(e):
		return e.DumpOf, nil
	case unitKind(e) != nil:
		return -1, aboutUnit(e)
	}
	return -1, nil
}

// named are kinds of units whose names users choose: fusermount(1) mounts for anybody, where they like.
var named = [][]byte{[]byte(".mount"), []byte(".automount"), []byte(".swap"), []byte(".device"), []byte(".scope")}

// warning is a severity of syslog.
const warning = 4

// unitKind stands for the unit that systemd writes about, where a user may have chosen its name, or is nil. What it
// warns of is about what it has done itself.
func unitKind(e *journald.Entry) []byte {
	if e.PID != journald.Manager || e.Priority <= warning {
		return nil
	}
	for _, kind := range named {
		if bytes.HasSuffix(e.Unit, kind) {
			return append([]byte{'#'}, kind...)
		}
	}
	return nil
}

// aboutUnit is a line of systemd about a unit without its name and its description, which for a mount is where it is:
// "NAME: Deactivated successfully." or "Mounted NAME - DESCRIPTION.".
func aboutUnit(e *journald.Entry) []byte {
	if rest, ok := bytes.CutPrefix(e.Message, append(bytes.Clone(e.Unit), ':')); ok {
		return append(append(unitKind(e), ':'), rest...)
	}
	verb, _, _ := bytes.Cut(e.Message, []byte(" "))
	return append(append(bytes.Clone(verb), ' '), unitKind(e)...)
}

func ofDump(e *journald.Entry) bool { return e.UID == 0 && bytes.HasPrefix(e.Unit, []byte(coredumps)) }

// said is the text of an entry. That of a dump has the stacks of all threads, and is often too long.
func said(e *journald.Entry) []byte {
	if e.TooLong && ofDump(e) {
		return fmt.Appendf(nil, "Process %q of user %d dumped core. %s", e.Dumped, e.DumpOf, e.Message)
	}
	return e.Message
}
