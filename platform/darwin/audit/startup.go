// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"sentinel/internal/audit"
	"sentinel/platform/darwin/property"
	"sentinel/platform/unix/hostfile"
)

func startupChecks() []check {
	return []check{
		{About: audit.About{
			ID: "startup.signed", Name: "Signers of what starts by itself", Severity: audit.Medium, Weight: 5,
			Reference:   "MITRE ATT&CK T1543.001, T1543.004",
			Description: "What starts by itself outlives a restart; without a signer nobody answers for it.",
			Formula:     "PASS when codesign names a certificate for the program of each launch daemon and agent in /Library and in the homes in /Users. WARN for one that is not signed, or only by itself (ad hoc). Programs of macOS on the system volume count as signed. Skipped when the signature of one cannot be told.",
		}, Run: startupSigned, Limit: 20 * time.Second},
		{About: audit.About{
			ID: "startup.writable", Name: "Rights on what starts by itself", Severity: audit.High, Weight: 8,
			Reference:   "MITRE ATT&CK T1574.010",
			Description: "Whoever can write the file or the program of a launch daemon runs as root at the next start.",
			Formula:     "PASS when only root, and for an agent in a home its user, can write the property lists, the programs and scripts that they name, and the folders that lead there. FAIL otherwise.",
		}, Run: startupWritable},
		{About: audit.About{
			ID: "startup.missing", Name: "Programs that start and are not there", Severity: audit.Low, Weight: 2,
			Reference:   "MITRE ATT&CK T1574",
			Description: "What is told to start and is not there starts what somebody puts there.",
			Formula:     "PASS when the program of each launch daemon and agent in /Library and in the homes exists. WARN otherwise. Does not apply when there are none.",
		}, Run: startupMissing},
	}
}

// Bounds of what starts by itself.
const (
	maxItems  = 500
	maxSigned = 100 // programs that one run of codesign is given
)

// An item is a launch daemon or agent that did not come with macOS.
type item struct {
	file    string // its property list
	uid     int    // who may write it, beside root
	program string // absolute; "" when it is named otherwise
	scripts []string
}

// A startup is all items.
type startup struct {
	list   []item
	unread error // why there may be more
}

// startup reads the property lists, once.
func (m *machine) startup() (startup, error) {
	return m.items.Get(func() (startup, error) {
		var s startup
		for _, dir := range []string{"/Library/LaunchDaemons", "/Library/LaunchAgents"} {
			s.take(m, "/", strings.TrimPrefix(dir, "/"), m.Owner)
		}
		people, err := m.persons()
		if err != nil && !missing(err) {
			s.miss("/Users", err)
		}
		for _, p := range people {
			s.take(m, p.home, "Library/LaunchAgents", p.uid)
		}
		return s, nil
	})
}

func (s *startup) miss(file string, err error) {
	if s.unread == nil {
		s.unread = &fs.PathError{Op: "read", Path: file, Err: hostfile.Reason(err)}
	}
}

// take reads the property lists of one directory below a home, or below the root.
func (s *startup) take(m *machine, home, dir string, uid int) {
	names, err := m.itemNames(home, dir)
	if missing(err) {
		return
	}
	if err != nil {
		s.miss(path.Join(home, dir), err)
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".plist") {
			continue
		}
		file := path.Join(home, dir, name)
		if len(s.list) == maxItems {
			s.miss(file, hostfile.ErrTooLarge)
			return
		}
		one := item{file: file, uid: uid}
		raw, err := m.readItem(home, dir, name)
		if err == nil {
			one.program, one.scripts, err = parseItem(raw)
		}
		if err != nil {
			s.miss(file, err)
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

// readItem reads one property list. Only root can put links into the directories of
// the machine, so those are followed.
func (m *machine) readItem(home, dir, name string) ([]byte, error) {
	if home == "/" {
		return m.read(path.Join(home, dir, name))
	}
	raw, _, err := m.readBelow(home, path.Join(dir, name))
	return raw, err
}

// parseItem reads what a property list of launchd starts (launchd.plist(5)): the
// program, and the arguments that are absolute paths, because the program is often a shell.
func parseItem(raw []byte) (program string, scripts []string, err error) {
	var list struct {
		Program   string
		Arguments []string `plist:"ProgramArguments"`
	}
	if err := property.Decode(raw, &list); err != nil {
		return "", nil, err
	}
	program = list.Program
	if program == "" && len(list.Arguments) > 0 {
		program = list.Arguments[0]
	}
	if !absolute(program) {
		program = ""
	}
	for i, one := range list.Arguments {
		if i > 0 && absolute(one) && len(scripts) < maxNames && slices.Contains([]string{"", ".sh", ".py", ".rb", ".pl", ".js", ".command", ".zsh"}, path.Ext(one)) {
			scripts = append(scripts, one)
		}
	}
	return program, scripts, nil
}

func absolute(file string) bool {
	return strings.HasPrefix(file, "/") && len(file) > 1 && len(file) <= 1024 && !strings.ContainsRune(file, 0)
}

// systemDirectories are on the sealed volume, or protected with it.
var systemDirs = []string{"/System/", "/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/libexec/", "/usr/lib/"}

// dataVolumes are below a directory of the system, and what is on them is anybody's:
// a home is also /System/Volumes/Data/Users/NAME.
const dataVolumes = "/System/Volumes/"

func ofSystem(file string) bool {
	file = path.Clean(file) + "/"
	return !strings.HasPrefix(file, dataVolumes) && slices.ContainsFunc(systemDirs, func(dir string) bool { return strings.HasPrefix(file, dir) })
}

// printable says that a name cannot break the lines of what codesign prints. Any
// user can have an agent with a name in which stands what is printed of another program.
func printable(name string) bool { return !strings.ContainsFunc(name, unicode.IsControl) }

// programs are those of others than Apple, each once, that codesign can be asked
// about.
func (s startup) programs() []string {
	var list []string
	for _, one := range s.list {
		if one.program != "" && !ofSystem(one.program) && printable(one.program) {
			list = append(list, one.program)
		}
	}
	return distinct(list)
}

func startupSigned(ctx context.Context, m *machine) audit.Finding {
	s, err := m.startup()
	if err != nil {
		return m.unread("launch items", err)
	}
	signers, err := m.signers(ctx, s)
	if err != nil {
		return audit.Unread("codesign", err)
	}
	var odd, names []string
	unknown := ""
	for _, one := range s.list {
		sign, told := signers[one.program]
		switch {
		case one.program == "" || ofSystem(one.program) || sign.missing:
		case !printable(one.program):
			odd = append(odd, audit.At(one.file, 0, fmt.Sprintf("%s has control characters in its name", one.program)))
		case !told:
			unknown = one.program
		case sign.by == "":
			odd = append(odd, audit.At(one.file, 0, fmt.Sprintf("%s is %s", one.program, sign.fault)))
		default:
			names = append(names, sign.by)
		}
	}
	switch {
	case len(odd) > 0:
		return audit.Warned(audit.Count(len(odd), "item", "items")+" without a signer", "Remove each that nobody knows: sudo launchctl bootout system FILE (gui/UID for an agent), then delete the file.", odd...)
	case s.unread != nil:
		return m.unread("launch items", s.unread)
	case unknown != "":
		return audit.Unseen("codesign does not tell about " + unknown)
	case len(names) == 0:
		return audit.Passed("None that is not of macOS")
	default:
		return audit.Passed(audit.Count(len(s.list), "item", "items") + ", signed by " + strings.Join(distinct(names), "; "))
	}
}

// signers asks codesign about all programs at once.
func (m *machine) signers(ctx context.Context, s startup) (map[string]signature, error) {
	return m.signatures.Get(func() (map[string]signature, error) {
		programs := s.programs()
		if len(programs) == 0 {
			return nil, nil
		}
		if len(programs) > maxSigned {
			return nil, errors.New("more programs start by themselves than are asked about")
		}
		r, err := m.askWithin(ctx, 15*time.Second, "/usr/bin/codesign", append([]string{"-d", "--verbose=2"}, programs...)...)
		if err != nil {
			return nil, err
		}
		return parseSignatures(r.Stderr, programs), nil
	})
}

// A signature is what codesign tells of one program.
type signature struct {
	by      string // the first certificate; "" when there is none
	fault   string // why there is none
	missing bool   // the program is not there
}

// parseSignatures reads what codesign -d prints on stderr: for each program a
// line "Executable=PATH" with others after it, or "PATH: message". Only what begins with one of
// the programs that were asked about is taken, and Authority lines count from the first block on.
func parseSignatures(stderr []byte, programs []string) map[string]signature {
	known := map[string]signature{}
	current := ""
	for line := range strings.Lines(string(stderr)) {
		line = strings.TrimRight(line, "\r\n")
		if file, ok := strings.CutPrefix(line, "Executable="); ok {
			current = ""
			if slices.Contains(programs, file) {
				current = file
			}
			continue
		}
		if i := slices.IndexFunc(programs, func(p string) bool { return strings.HasPrefix(line, p+": ") }); i >= 0 {
			current = ""
			switch said := strings.TrimPrefix(line, programs[i]+": "); said {
			case "code object is not signed at all":
				known[programs[i]] = signature{fault: "not signed"}
			case "No such file or directory":
				known[programs[i]] = signature{missing: true}
			}
			continue
		}
		if _, done := known[current]; current == "" || done {
			continue
		}
		if name, ok := strings.CutPrefix(line, "Authority="); ok && name != "" && !strings.HasPrefix(name, "(") {
			known[current] = signature{by: name}
		} else if line == "Signature=adhoc" {
			known[current] = signature{fault: "signed by nobody (ad hoc)"}
		}
	}
	return known
}

// A placeOf is a file or directory that is asked about for a user: who may write it
// differs.
type placeOf struct {
	path string
	uid  int
}

// upwards are a file and the directories that lead to it: whoever can write one of
// them can put another in the place of all below.
func upwards(file string) []string {
	if file == "" {
		return nil
	}
	list := []string{path.Clean(file)}
	for dir := path.Dir(list[0]); len(dir) > 1; dir = path.Dir(dir) {
		list = append(list, dir)
	}
	return list
}

func startupWritable(_ context.Context, m *machine) audit.Finding {
	s, err := m.startup()
	if err != nil {
		return m.unread("launch items", err)
	}
	var wrong []string
	unread, seen := error(nil), map[placeOf]bool{}
	for _, one := range s.list {
		for _, file := range append([]string{one.file, one.program}, one.scripts...) {
			for _, place := range upwards(file) {
				if ofSystem(place) || seen[placeOf{place, one.uid}] {
					continue
				}
				seen[placeOf{place, one.uid}] = true
				f, err := m.stat(place)
				switch {
				case missing(err):
				case err != nil:
					unread = err
				case !m.onlyOf(one.uid, f):
					wrong = append(wrong, audit.At(one.file, 0, place+" is "+f.String()))
				}
			}
		}
	}
	switch {
	case len(wrong) > 0:
		return audit.Failed(audit.Count(len(wrong), "file or folder", "files and folders")+" others can write", "Make each root's alone: sudo chown root:wheel FILE && sudo chmod go-w FILE (for an agent in a home, its user's). Then read what it starts.", wrong...)
	case s.unread != nil:
		return m.unread("launch items", s.unread)
	case unread != nil:
		return m.unread("launch items", unread)
	case len(s.list) == 0:
		return audit.Passed("None that is not of macOS")
	default:
		return audit.Passed(audit.Count(len(s.list), "item", "items"))
	}
}

func startupMissing(_ context.Context, m *machine) audit.Finding {
	s, err := m.startup()
	if err != nil {
		return m.unread("launch items", err)
	}
	var gone []string
	unread := s.unread
	for _, one := range s.list {
		if one.program == "" || ofSystem(one.program) {
			continue
		}
		_, err := m.stat(one.program)
		switch {
		case missing(err):
			gone = append(gone, audit.At(one.file, 0, one.program+" is not there"))
		case err != nil:
			unread = err
		}
	}
	switch {
	case len(gone) > 0:
		return audit.Warned(audit.Count(len(gone), "program is", "programs are")+" not there", "Remove the property list of what was taken off this Mac.", gone...)
	case unread != nil:
		return m.unread("launch items", unread)
	case len(s.list) == 0:
		return audit.NotApplicable("nothing but macOS starts by itself")
	default:
		return audit.Passed(audit.Count(len(s.list), "item", "items"))
	}
}
