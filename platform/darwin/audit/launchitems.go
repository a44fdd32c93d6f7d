// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"

	"sentinel/platform/darwin/plist"
	"sentinel/platform/unix/hostfile"
	"sentinel/platform/unix/shellscript"
)

// Bounds of launch items.
const (
	maxItems  = 500
	maxSigned = 100 // programs that codesign is asked about
)

// A launchItem is a launch daemon or agent that is not part of macOS.
type launchItem struct {
	file    string // its property list
	uid     int    // who may write it, besides root
	program string // absolute path; "" if it is not known
	unclear string // why the program is not known, or may be another one
	name    string // of the program, which launchd looks for in its folders (execvp(3))
	scripts []string
}

// launchItems are all of them.
type launchItems struct {
	list   []launchItem
	unread error // why there may be more
}

// unclear says of one whose program is not known why; "" if there is none.
func (s launchItems) unclear() string {
	for _, one := range s.list {
		if one.unclear != "" {
			return one.file + ": " + one.unclear
		}
	}
	return ""
}

// launchItems reads the property lists, once.
func (m *machine) launchItems() (launchItems, error) {
	return m.items.Get(func() (launchItems, error) {
		var s launchItems
		for _, dir := range []string{"/Library/LaunchDaemons", "/Library/LaunchAgents"} {
			s.readDir(m, "/", strings.TrimPrefix(dir, "/"), m.Owner)
		}
		people, err := m.accounts()
		if err != nil && !missing(err) {
			s.noteUnread("/Users", err)
		}
		for _, p := range people {
			s.readDir(m, p.home, "Library/LaunchAgents", p.uid)
		}
		return s, nil
	})
}

func (s *launchItems) noteUnread(file string, err error) {
	if s.unread == nil {
		s.unread = &fs.PathError{Op: "read", Path: file, Err: hostfile.Reason(err)}
	}
}

// readDir reads the property lists in a directory below a home or below /.
func (s *launchItems) readDir(m *machine, home, dir string, uid int) {
	names, err := m.itemNames(home, dir)
	if missing(err) {
		return
	}
	if err != nil {
		s.noteUnread(path.Join(home, dir), err)
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".plist") {
			continue
		}
		file := path.Join(home, dir, name)
		if len(s.list) == maxItems {
			s.noteUnread(file, hostfile.ErrTooLarge)
			return
		}
		one := launchItem{file: file, uid: uid}
		raw, err := m.readItem(home, dir, name)
		if err == nil {
			one, err = parseItem(raw)
			one.file, one.uid = file, uid
			one.find(m)
		}
		if err != nil {
			s.noteUnread(file, err)
		}
		s.list = append(s.list, one)
	}
}

func (m *machine) itemNames(home, dir string) ([]string, error) {
	if home == "/" {
		return m.names(path.Join(home, dir), maxNames)
	}
	return m.namesBelow(home, dir, maxNames)
}

// readItem reads a property list. Only root can create links in the directories of
// the machine, so those are followed.
func (m *machine) readItem(home, dir, name string) ([]byte, error) {
	if home == "/" {
		return m.read(path.Join(home, dir, name))
	}
	raw, _, err := m.readBelow(home, path.Join(dir, name))
	return raw, err
}

// parseItem parses a property list of launchd (launchd.plist(5)). The scripts are among the arguments,
// because the program is often a shell.
func parseItem(raw []byte) (launchItem, error) {
	var list struct {
		Program   string
		Bundled   string   `plist:"BundleProgram"` // relative to the application that it belongs to
		Arguments []string `plist:"ProgramArguments"`
		Directory string   `plist:"WorkingDirectory"`
		Root      string   `plist:"RootDirectory"`
		Variables struct {
			Path any `plist:"PATH"`
		} `plist:"EnvironmentVariables"`
	}
	if err := plist.Decode(raw, &list); err != nil {
		return launchItem{}, err
	}
	var one launchItem
	program := list.Program
	if program == "" && len(list.Arguments) > 0 {
		program = list.Arguments[0]
	}
	switch {
	case program == "" && list.Bundled == "":
		return launchItem{}, errNoProgram
	case program == "":
		one.unclear = list.Bundled + " is in an application that the property list does not name"
	case list.Program == "" && !strings.Contains(program, "/"):
		if one.name = program; list.Variables.Path != nil {
			one.unclear = program + " is looked for in a PATH of the property list"
		}
	default:
		one.program = program
		if !path.IsAbs(program) { // jobs start in /
			one.program = path.Join("/", list.Directory, program)
		}
		if !isAbsolute(one.program) {
			one.program, one.unclear = "", "the path of the program is none"
		}
	}
	if list.Root != "" && path.Clean(list.Root) != "/" {
		one.unclear = program + " is below the root directory " + list.Root
	}
	for i, word := range list.Arguments {
		if len(one.scripts) == maxNames {
			return one, hostfile.ErrTooLarge
		}
		if i > 0 && isAbsolute(word) && slices.Contains([]string{"", ".sh", ".py", ".rb", ".pl", ".js", ".command", ".zsh"}, path.Ext(word)) {
			one.scripts = append(one.scripts, word)
		}
	}
	sh := shellscript.NewReader(len(raw))
	for _, script := range sh.Command(list.Arguments) {
		if isAbsolute(script) && script != program && !slices.Contains(one.scripts, script) {
			one.scripts = append(one.scripts, script)
		}
	}
	return one, sh.Err()
}

// launchdPath is where launchd looks for a program without a path (_PATH_STDPATH of paths.h).
var launchdPath = []string{"/usr/bin", "/bin", "/usr/sbin", "/sbin"}

// find looks for a program that has no path.
func (one *launchItem) find(m *machine) {
	if one.name == "" || one.unclear != "" {
		return
	}
	for _, dir := range launchdPath {
		if file := path.Join(dir, one.name); m.exists(file) {
			one.program = file
			return
		}
	}
	one.unclear = one.name + " is in no folder where launchd looks"
}

// errNoProgram reports a launch item that names no program. launchd does not start one, but what
// was meant is not known.
var errNoProgram = errors.New("the property list names no program")

func isAbsolute(file string) bool {
	return strings.HasPrefix(file, "/") && len(file) > 1 && len(file) <= 1024 && !strings.ContainsRune(file, 0)
}

// systemDirs are on the sealed system volume or protected like it.
var systemDirs = []string{"/System/", "/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/libexec/", "/usr/lib/"}

// dataVolumes is below a system directory, but the volumes in it are not protected:
// a home is also /System/Volumes/Data/Users/NAME.
const dataVolumes = "/System/Volumes/"

func onSystemVolume(file string) bool {
	file = path.Clean(file) + "/"
	return !strings.HasPrefix(file, dataVolumes) && slices.ContainsFunc(systemDirs, func(dir string) bool { return strings.HasPrefix(file, dir) })
}

// printable reports whether a name cannot break the lines of codesign. Otherwise any
// user could give an agent a name that contains the output for another program.
func printable(name string) bool { return !strings.ContainsFunc(name, unicode.IsControl) }

// programs are the programs that are not part of macOS, for codesign, without
// duplicates, by the user who chose them.
func (s launchItems) programs(m *machine) (byUser map[int][]string, total int) {
	byUser = map[int][]string{}
	for _, one := range s.list {
		if one.program != "" && !onSystemVolume(one.program) && printable(one.program) && !m.hidden(one) && !m.special(one) {
			byUser[one.uid] = append(byUser[one.uid], one.program)
		}
	}
	for uid, list := range byUser {
		byUser[uid] = unique(list)
		total += len(byUser[uid])
	}
	return byUser, total
}

// hidden reports whether a user named a program that this user cannot see.
func (m *machine) hidden(one launchItem) bool {
	if !m.looksFor(one.uid) {
		return false
	}
	_, err := m.statFor(one.uid, one.program)
	return err != nil
}

// special reports whether a program is there and no regular file: codesign waits for a pipe.
func (m *machine) special(one launchItem) bool {
	f, err := m.statFor(one.uid, one.program)
	return err == nil && !f.Mode.IsRegular()
}
