// SPDX-License-Identifier: Apache-2.0

// Package edit enters sentinel-mcp into the configuration of a client.
//
// A configuration belongs to its user and holds other servers, their keys and
// comments. It is edited as text: everything else keeps every byte. A file that the client itself could
// not read is refused, a backup is made before it changes, and it is replaced whole or not at all.
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
	Changed bool   // false: it was so before
	Backup  string // its path; "" when none was made
	Line    int    // where the difference begins
	Removed string // the text that was removed, and
	Added   string // the text that replaced it
	Deleted bool   // the file, which held nothing but our entry, was removed
	Entry   Entry  // ours, as it is now, or was when it was removed
}

// Install enters e into the configuration of c or, with dry, only returns what it
// would change. A second time changes nothing.
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

// Uninstall removes our entry from the configuration of c. If nobody has changed
// the file since Install, it gets its former content back to the byte.
func Uninstall(ctx context.Context, u clients.User, c clients.Client, dry bool) (Change, error) {
	return configure(ctx, u, c, dry, func(f file) (draft, error) {
		after, err := remove(f.raw, c)
		if err != nil || bytes.Equal(after, f.raw) {
			return draft{raw: f.raw}, err
		}
		e, _ := entryOf(f.raw, c)
		if old, err := open(u, f.path+backupSuffix); err == nil && old.info != nil && !old.isLink && leadsTo(old.raw, c, e, f.raw) {
			return draft{raw: old.raw, entry: e, restored: old.real}, nil
		}
		if !f.isLink && leadsTo(nil, c, e, f.raw) {
			return draft{entry: e, deleted: true}, nil
		}
		return draft{raw: after, entry: e, backup: true}, nil
	})
}

// leadsTo says whether entering e into before gives after, so that after holds
// nothing else that is new.
func leadsTo(before []byte, c clients.Client, e Entry, after []byte) bool {
	if _, ours := entryOf(before, c); ours {
		return false
	}
	again, err := install(before, c, e)
	return err == nil && bytes.Equal(again, after)
}

// A draft is what a configuration is to become.
type draft struct {
	raw      []byte
	entry    Entry
	backup   bool   // keep what is there now
	restored string // the backup that this is, to be removed
	deleted  bool   // no file at all
}

func configure(ctx context.Context, u clients.User, c clients.Client, dry bool, plan func(file) (draft, error)) (Change, error) {
	if err := checkUser(u); err != nil {
		return Change{}, err
	}
	for range attempts {
		change, again, err := tryOnce(ctx, u, c, dry, plan)
		if err != nil {
			return Change{}, withPath(err, c.File(u))
		}
		if !again {
			return change, nil
		}
	}
	return Change{}, fault.New(fault.Unavailable, c.Name+" keeps writing "+c.File(u)+".").WithFix("Quit " + c.Name + ", then run the same command again.")
}

// withPath turns an error about the text of a file into one about the file.
func withPath(err error, path string) error {
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

// tryOnce plans and does one change. again says that the file changed meanwhile.
func tryOnce(ctx context.Context, u clients.User, c clients.Client, dry bool, plan func(file) (draft, error)) (change Change, again bool, err error) {
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
	if err := f.checkWritable(); err != nil || dry {
		return change, false, err
	}
	again, err = f.apply(ctx, u, d)
	return change, again, err
}

// apply writes the draft, unless the file has changed since it was planned.
func (f file) apply(ctx context.Context, u clients.User, d draft) (again bool, err error) {
	dir := filepath.Dir(f.real)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, unwritable(dir, err)
	}
	unlock, err := lock(ctx, dir)
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
		if err := f.backUp(u); err != nil {
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

// backUp writes the backup. It may hold keys of other servers, so only its owner
// can read it, whoever may read the configuration.
func (f file) backUp(u clients.User) error {
	path := f.path + backupSuffix
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return unwritable(path, err)
	case !info.Mode().IsRegular():
		return fault.New(fault.Unavailable, path+" is not a regular file, and the backup would replace it.").WithFix("Move it away.")
	default:
		if err := checkOwner(u, path, info); err != nil {
			return err
		}
	}
	return write(path, f.raw, 0o600, -1, nil)
}

// compare returns what a draft changes, without the text around it: where a whole
// file is one line, that could show other servers' keys.
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

// common is the length of the common prefix of two texts.
func common(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// commonEnd is the length of the common suffix of two texts.
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
		return c.Path + ": removed, because it holds nothing else\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, line %d:\n", c.Path, c.Line)
	writeLines(&b, "- ", c.Removed)
	writeLines(&b, "+ ", c.Added)
	return b.String()
}

// writeLines writes the lines of text that are not blank, each behind a sign.
func writeLines(b *strings.Builder, sign, text string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, blank); line != "" {
			b.WriteString(sign + line + "\n")
		}
	}
}
