// SPDX-License-Identifier: Apache-2.0

// Package edit enters sentinel-mcp into the configuration of a client.
//
// A configuration belongs to its user and holds other servers, their keys and comments.
// It is edited as text: what is not ours keeps every byte. A text that the client itself could not
// read is refused untouched, a backup lies beside it before it changes, and the new one replaces it
// whole or not at all.
package edit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sentinel/internal/clients"
	"sentinel/internal/fault"
)

// attempts is how often a configuration is read again because its client wrote
// it at the same time.
const attempts = 3

// A Change is what was done to a configuration, or would be.
type Change struct {
	Path    string // of the configuration, as the client opens it
	Changed bool   // false: it was so already
	Backup  string // its path; "" when none was made
	Line    int    // in which the difference begins
	Removed string // what is there no longer, and
	Added   string // what is instead
	Deleted bool   // the whole file, which only held our entry
	Entry   Entry  // as the configuration has it now; before, when it was taken out
}

// Install enters e into the configuration of c, or only says what it would
// change. A second time changes nothing.
func Install(ctx context.Context, u clients.User, c clients.Client, e Entry, dry bool) (Change, error) {
	return configure(ctx, u, c, dry, func(f file) (draft, error) {
		after, err := install(f.raw, c, e)
		if err != nil {
			return draft{}, err
		}
		_, ours := entryOf(f.raw, c)
		entry, _ := entryOf(after, c)
		return draft{raw: after, entry: entry, backup: f.info != nil && !ours}, nil
	})
}

// Uninstall takes our entry out of the configuration of c. What Install changed
// and nobody since is put back to the byte.
func Uninstall(ctx context.Context, u clients.User, c clients.Client, dry bool) (Change, error) {
	return configure(ctx, u, c, dry, func(f file) (draft, error) {
		after, err := remove(f.raw, c)
		if err != nil || bytes.Equal(after, f.raw) {
			return draft{raw: f.raw}, err
		}
		e, _ := entryOf(f.raw, c)
		if old, err := open(u, f.path+backupSuffix); err == nil && old.info != nil && !old.link && leadsTo(old.raw, c, e, f.raw) {
			return draft{raw: old.raw, entry: e, restored: old.real}, nil
		}
		if !f.link && leadsTo(nil, c, e, f.raw) {
			return draft{entry: e, deleted: true}, nil
		}
		return draft{raw: after, entry: e, backup: true}, nil
	})
}

// leadsTo says whether entering e into before gives after, so that after holds
// nothing that is not in before.
func leadsTo(before []byte, c clients.Client, e Entry, after []byte) bool {
	if _, ours := entryOf(before, c); ours {
		return false
	}
	again, err := install(before, c, e)
	return err == nil && bytes.Equal(again, after)
}

// A draft is what a configuration shall become.
type draft struct {
	raw      []byte
	entry    Entry
	backup   bool   // keep what is there now
	restored string // the backup that this is, to be removed
	deleted  bool   // no file at all
}

func configure(ctx context.Context, u clients.User, c clients.Client, dry bool, plan func(file) (draft, error)) (Change, error) {
	if err := check(u); err != nil {
		return Change{}, err
	}
	for range attempts {
		change, again, err := once(ctx, u, c, dry, plan)
		if err != nil {
			return Change{}, complete(err, c.File(u))
		}
		if !again {
			return change, nil
		}
	}
	return Change{}, fault.New(fault.Unavailable, c.Name+" keeps writing "+c.File(u)+".").WithFix("Quit " + c.Name + ", then run the same command again.")
}

// complete makes an error about a whole file of one about its text.
func complete(err error, path string) error {
	f, ok := errors.AsType[flaw](err)
	if !ok {
		return err
	}
	fix := f.fix
	if fix == "" {
		fix = "Correct the file, which the client cannot read either, then run the same command again."
	}
	return fault.New(fault.ConfigInvalid, path+" is left as it is: "+f.what+".").WithFix(fix)
}

// once plans and does one change. again says that the file was changed by
// somebody else meanwhile.
func once(ctx context.Context, u clients.User, c clients.Client, dry bool, plan func(file) (draft, error)) (change Change, again bool, err error) {
	f, err := open(u, c.File(u))
	if err != nil {
		return Change{}, false, err
	}
	d, err := plan(f)
	if err != nil {
		return Change{}, false, err
	}
	change = compare(f, d)
	if !change.Changed {
		return change, false, nil
	}
	if err := f.writable(); err != nil || dry {
		return change, false, err
	}
	again, err = f.apply(ctx, u, d)
	return change, again, err
}

// apply writes the draft unless the file is no longer what was planned with.
func (f file) apply(ctx context.Context, u clients.User, d draft) (again bool, err error) {
	if err := os.MkdirAll(filepath.Dir(f.real), 0o700); err != nil {
		return false, unwritable(f.real, err)
	}
	unlock, err := lock(ctx, filepath.Dir(f.real))
	if err != nil {
		return false, err
	}
	defer unlock()
	now, err := open(u, f.path)
	if err != nil {
		return false, err
	}
	if (now.info == nil) != (f.info == nil) || now.real != f.real || !bytes.Equal(now.raw, f.raw) {
		return true, nil
	}
	if d.backup {
		if err := f.keep(u); err != nil {
			return false, err
		}
	}
	if d.deleted {
		return false, os.Remove(f.path)
	}
	if err := now.replace(d.raw); err != nil {
		return false, err
	}
	if d.restored != "" {
		return false, os.Remove(d.restored)
	}
	return false, nil
}

// keep writes the backup. It may hold keys of other servers, so only its owner
// reads it, whoever may read the configuration.
func (f file) keep(u clients.User) error {
	path := f.path + backupSuffix
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return unwritable(path, err)
	case !info.Mode().IsRegular():
		return fault.New(fault.Unavailable, path+" is no ordinary file, and the backup belongs there.").WithFix("Move it away.")
	default:
		if err := owns(u, path, info); err != nil {
			return err
		}
	}
	return write(path, f.raw, 0o600, -1, nil)
}

// compare says what a draft changes: the lines that differ, or where a whole
// file is one line, what differs in it. Other servers' keys are not for a screen.
func compare(f file, d draft) Change {
	change := Change{Path: f.path, Entry: d.entry, Deleted: d.deleted}
	change.Changed = d.deleted || !bytes.Equal(f.raw, d.raw) || f.info == nil && len(d.raw) > 0
	if !change.Changed {
		return change
	}
	if d.backup {
		change.Backup = f.path + backupSuffix
	}
	before, after := f.raw, d.raw
	n := common(before, after)
	before, after = before[n:], after[n:]
	change.Line = 1 + bytes.Count(f.raw[:n], []byte("\n"))
	m := commonEnd(before, after)
	change.Removed, change.Added = string(before[:len(before)-m]), string(after[:len(after)-m])
	return change
}

// common is how many bytes two texts begin with together.
func common(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func commonEnd(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// String describes a change in lines, as --dry-run prints it.
func (c Change) String() string {
	switch {
	case !c.Changed:
		return c.Path + ": no change\n"
	case c.Deleted:
		return c.Path + ": removed, for it holds nothing else\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, line %d:\n", c.Path, c.Line)
	marked(&b, "- ", c.Removed)
	marked(&b, "+ ", c.Added)
	return b.String()
}

// marked writes the lines of text that are not blank, each behind a sign.
func marked(b *strings.Builder, sign, text string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, blank); line != "" {
			b.WriteString(sign + line + "\n")
		}
	}
}
