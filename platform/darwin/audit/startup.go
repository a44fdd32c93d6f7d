// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"sentinel/internal/audit"
	"sentinel/internal/humanize"
	"sentinel/platform/darwin/codesign"
)

func startupChecks() []check {
	return []check{
		{About: audit.About{
			ID: "startup.signed", Name: "Signatures of launch items", Severity: audit.Medium, Weight: 5,
			Reference:   "MITRE ATT&CK T1543.001, T1543.004",
			Description: "Launch items survive a restart; nobody answers for one without a signature.",
			Formula:     "PASS when codesign verifies, for the program of each launch daemon and agent in /Library and in the homes in /Users, that it is as it was signed and that Apple vouches for the certificate. WARN for one without a signature, or with one that is ad hoc, broken or of any other certificate. Programs of macOS on the system volume count as signed. Skipped when the program or the signature of one cannot be determined, or the signature not verified.",
		}, Run: startupSigned, Limit: 20 * time.Second},
		{About: audit.About{
			ID: "startup.writable", Name: "Permissions of launch items", Severity: audit.High, Weight: 8,
			Reference:   "MITRE ATT&CK T1574.010",
			Description: "Whoever can write to the file or the program of a launch daemon can run code as root.",
			Formula:     "PASS when only root, and for an agent in a home its user, can write the property lists, the programs and scripts that they name, and the folders above. FAIL otherwise.",
		}, Run: startupWritable},
		{About: audit.About{
			ID: "startup.missing", Name: "Launch items without a program", Severity: audit.Low, Weight: 2,
			Reference:   "MITRE ATT&CK T1574",
			Description: "launchd runs whatever somebody puts in the place of a missing program.",
			Formula:     "PASS when the program of each launch daemon and agent in /Library and in the homes exists. WARN otherwise. Does not apply when there are none.",
		}, Run: startupMissing},
	}
}

func startupSigned(ctx context.Context, m *machine) audit.Finding {
	s, err := m.launchItems()
	if err != nil {
		return m.unread("launch items", err)
	}
	signers, err := m.signers(ctx, s)
	if err != nil {
		return audit.Unread("codesign", err)
	}
	var odd, names []string
	unknown := s.unclear()
	for _, one := range s.list {
		sign, told := signers[programOf{one.uid, one.program}]
		switch {
		case one.program == "" || onSystemVolume(one.program) || sign.Missing || m.hidden(one):
		case !printable(one.program):
			odd = append(odd, audit.At(one.file, 0, fmt.Sprintf("%s has control characters in its name", one.program)))
		case m.special(one):
			odd = append(odd, audit.At(one.file, 0, fmt.Sprintf("%s is no regular file", one.program)))
		case !told:
			unknown = "codesign says nothing about " + one.program
		case sign.Fault == "" && !sign.Verified:
			unknown = one.program + ": " + codesign.ErrUnverified.Error()
		case sign.Fault != "":
			odd = append(odd, audit.At(one.file, 0, fmt.Sprintf("%s is %s", one.program, sign.Fault)))
		default:
			names = append(names, sign.By)
		}
	}
	switch {
	case len(odd) > 0:
		value := humanize.Count(len(odd), "item", "items") + " without a valid signature"
		if unknown != "" {
			value = "At least " + value
		}
		return audit.Warned(value, "Remove each that nobody knows: sudo launchctl bootout system FILE (gui/UID for an agent), then delete the file.", odd...)
	case s.unread != nil:
		return m.unread("launch items", s.unread)
	case unknown != "":
		return audit.Unseen(unknown)
	case len(names) == 0:
		return audit.Passed("None besides those of macOS")
	default:
		return audit.Passed(humanize.Count(len(s.list), "item", "items") + ", signed by " + strings.Join(unique(names), "; "))
	}
}

// A pathForUser is a path and the user who may write to it besides root.
type pathForUser struct {
	path string
	uid  int
}

// withParents returns a file and its parent directories: whoever can write to one of
// them can replace everything below.
func withParents(file string) []string {
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
	s, err := m.launchItems()
	if err != nil {
		return m.unread("launch items", err)
	}
	var wrong []string
	unread, seen := error(nil), map[pathForUser]bool{}
	for _, one := range s.list {
		for _, file := range append([]string{one.file, one.program}, one.scripts...) {
			for _, place := range withParents(file) {
				if onSystemVolume(place) || seen[pathForUser{place, one.uid}] {
					continue
				}
				seen[pathForUser{place, one.uid}] = true
				f, err := m.statFor(one.uid, place)
				switch {
				case missing(err):
				case err != nil:
					unread = err
				case !m.onlyWritableBy(one.uid, f):
					wrong = append(wrong, audit.At(one.file, 0, place+" is "+f.String()))
				}
			}
		}
	}
	switch {
	case len(wrong) > 0:
		return audit.Failed(humanize.Count(len(wrong), "file or folder", "files and folders")+" others can write", "Let only root write each one: sudo chown root:wheel FILE && sudo chmod go-w FILE (for an agent in a home, its user's). Then read what it starts.", wrong...)
	case s.unread != nil:
		return m.unread("launch items", s.unread)
	case unread != nil:
		return m.unread("launch items", unread)
	case s.unclear() != "":
		return audit.Unseen(s.unclear())
	case len(s.list) == 0:
		return audit.Passed("None besides those of macOS")
	default:
		return audit.Passed(humanize.Count(len(s.list), "item", "items"))
	}
}

func startupMissing(_ context.Context, m *machine) audit.Finding {
	s, err := m.launchItems()
	if err != nil {
		return m.unread("launch items", err)
	}
	var gone []string
	unread := s.unread
	for _, one := range s.list {
		if one.program == "" || onSystemVolume(one.program) {
			continue
		}
		_, err := m.statFor(one.uid, one.program)
		switch {
		case missing(err):
			gone = append(gone, audit.At(one.file, 0, one.program+" does not exist"))
		case err != nil:
			unread = err
		}
	}
	switch {
	case len(gone) > 0:
		return audit.Warned(humanize.Count(len(gone), "program does", "programs do")+" not exist", "Remove the property lists of software that was uninstalled.", gone...)
	case unread != nil:
		return m.unread("launch items", unread)
	case s.unclear() != "":
		return audit.Unseen(s.unclear())
	case len(s.list) == 0:
		return audit.NotApplicable("nothing but macOS starts by itself")
	default:
		return audit.Passed(humanize.Count(len(s.list), "item", "items"))
	}
}
