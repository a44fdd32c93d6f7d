// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"sentinel/internal/lazyregexp"
	"sentinel/internal/startup"
	"sentinel/platform/darwin/extensions"
)

// background asks Background Task Management (macOS 13 and later), which tells it to root alone.
func (s *survey) background(ctx context.Context) {
	const program = "/usr/bin/sfltool"
	if s.EUID != 0 {
		s.miss(program, errRoot)
		return
	}
	s.run(ctx, func(stdout string) error {
		items, ok := parseItems(stdout)
		if !ok {
			return errOutput
		}
		for _, i := range items {
			s.backgroundItem(i)
		}
		return nil
	}, program, "dumpbtm")
}

type rootError struct{}

func (rootError) Error() string { return "not readable without root" }

var errRoot = rootError{}

// An item is a record of sfltool dumpbtm.
type item struct{ uid, name, developer, kind, disposition, identifier, file, program string }

var (
	itemsOf   = lazyregexp.New(`^\s*Records for UID (-?\d+)`)
	itemStart = lazyregexp.New(`^\s*#\d+:\s*$`)
	itemField = lazyregexp.New(`^\s*([A-Z][A-Za-z ]*): (.*)$`)
)

const maxItems = 2000

// parseItems reads the records; ok is false for another output. A record is lines of a name and a
// value, such as "Disposition: [enabled, allowed, visible, notified] (0xb)".
func parseItems(stdout string) (items []item, ok bool) {
	uid := ""
	for line := range strings.Lines(stdout) {
		line = strings.TrimRight(line, "\r\n")
		if match := itemsOf.Get().FindStringSubmatch(line); match != nil {
			uid, ok = match[1], true
			continue
		}
		if itemStart.Get().MatchString(line) && len(items) < maxItems {
			items = append(items, item{uid: uid})
			continue
		}
		if match := itemField.Get().FindStringSubmatch(line); match != nil && len(items) > 0 {
			items[len(items)-1].set(match[1], strings.TrimSpace(match[2]))
		}
	}
	return items, ok
}

func (i *item) set(field, value string) {
	if value == "(null)" {
		return
	}
	for name, at := range map[string]*string{
		"Name": &i.name, "Developer Name": &i.developer, "Type": &i.kind, "Disposition": &i.disposition, "Identifier": &i.identifier, "Executable Path": &i.program,
	} {
		if name == field && *at == "" {
			*at = value
		}
	}
	if u, err := url.Parse(value); field == "URL" && err == nil && u.Scheme == "file" {
		i.file = u.Path
	}
}

// backgroundItem adds an item. A job of launchd is an entry of its own, by its property list: here
// only its publisher is learnt.
func (s *survey) backgroundItem(i item) {
	if i.developer != "" && i.file != "" {
		s.publishers[i.file] = i.developer
	}
	kind, _, _ := strings.Cut(i.kind, " (")
	if kind == "developer" || kind == "" || strings.HasSuffix(i.file, ".plist") && strings.Contains(i.file, "/Launch") {
		return
	}
	e := startup.Entry{
		Kind: startup.BackgroundItem, Name: i.name, Identity: i.uid + " " + i.identifier, Content: i.kind + i.program, When: kind, User: s.user(i.uid), By: by(s.user(i.uid)), Package: i.developer,
		Enabled: new(strings.Contains(i.disposition, "[enabled") && !strings.Contains(i.disposition, "disallowed")), Origin: startup.NoPackage, File: i.file,
	}
	if e.File == "" {
		e.File = "sfltool dumpbtm"
	}
	if ofSystem(i.file) {
		e.Origin, e.Package = startup.Packaged, "macOS"
	}
	if i.program != "" {
		e.Programs = []startup.Program{s.look(i.program)}
	}
	s.listed(e)
}

// listed adds an entry that a program listed.
func (s *survey) listed(e startup.Entry) {
	if len(s.found.Entries) == startup.MaxEntries {
		s.miss(e.File, startup.ErrTooMany)
		return
	}
	s.found.Entries = append(s.found.Entries, e)
}

func (s *survey) user(uid string) string {
	at := slices.IndexFunc(s.accounts, func(a account) bool { return itoa(a.uid) == uid })
	switch {
	case at > 0:
		return s.accounts[at].name
	case uid == "0":
		return "root"
	case uid == "-2":
		return "" // every user
	default:
		return uid
	}
}

// extensions finds what is loaded into the kernel or beside it.
func (s *survey) extensions(ctx context.Context) {
	s.run(ctx, func(stdout string) error {
		list, err := extensions.System([]byte(stdout))
		for _, x := range list {
			s.listed(startup.Entry{
				Kind: startup.Extension, Name: x.Bundle, File: "systemextensionsctl list", Identity: x.Team + x.Bundle, Content: x.State, When: "boot", User: "root",
				Package: x.Team, Enabled: new(strings.HasPrefix(x.State, "activated enabled")), Origin: startup.NoPackage,
			})
		}
		return err
	}, "/usr/bin/systemextensionsctl", "list")
	s.run(ctx, func(stdout string) error {
		list, err := extensions.Kernel([]byte(stdout))
		for _, name := range list {
			s.listed(startup.Entry{Kind: startup.Extension, Name: name, File: "kmutil showloaded", Identity: name, When: "boot", User: "root", Enabled: new(true), Origin: startup.NoPackage})
		}
		return err
	}, "/usr/bin/kmutil", "showloaded", "--list-only")
}
