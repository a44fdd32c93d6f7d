// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"strings"

	"sentinel/internal/fault"
	"sentinel/internal/sysexec"
	"sentinel/internal/updates"
)

// Exit statuses of zypper(8).
const (
	zypperLocked  = 7
	zypperSkipped = 106 // some repositories were skipped
)

// zypper is the package manager of SUSE.
type zypper struct{}

func (zypper) name() string { return "zypper" }

func (zypper) present(m machine) bool {
	return m.exists("usr/bin/zypper") && (m.exists("etc/products.d") || len(m.glob("etc/zypp/repos.d/*.repo")) > 0)
}

func (zypper) lists(m machine) []string {
	return m.glob("var/cache/zypp/raw/*/repodata/repomd.xml", "var/cache/zypp/raw/*/cookie")
}

// pending lists packages and then patches: a patch is an advisory about several packages, and
// zypper does not name them. Without metadata zypper would fetch it, so it is not run then.
func (z zypper) pending(ctx context.Context, m machine) (updates.Pending, error) {
	fetched := z.lists(m)
	if len(fetched) == 0 {
		p := updates.Pending{Unknown: errNeverFetched("zypper")}
		m.busy(&p)
		return p, nil
	}
	answer, err := z.ask(ctx, m.runMain, "list-updates")
	if err != nil {
		return updates.Pending{}, err
	}
	p := updates.Pending{Updates: answer.packages()}
	m.busy(&p)
	p.Refreshed, _ = newest(fetched...)
	if answer.skipped && len(p.Updates) == 0 {
		return updates.Pending{}, zypperFault(zypperSkipped, answer.errors)
	}
	if answer.skipped {
		p.Gaps.Note("info.updates", "zypper leaves out a repository: "+errorLines(answer.errors))
	}
	z.patches(ctx, m, &p)
	z.withheld(ctx, m, &p)
	return p, nil
}

// zypperLocks are the packages that zypper is to leave as they are (locks(5)).
const zypperLocks = "etc/zypp/locks"

// withheld finds what waits for packages that are locked. Patches are listed whatever is locked: without one,
// nothing that is withheld closes a security hole.
func (z zypper) withheld(ctx context.Context, m machine, p *updates.Pending) {
	locked, err := anyLine(m.glob(zypperLocks), func(line string) bool { return line != "" && line[0] != '#' })
	if err != nil {
		p.Gaps.Add("withheld", err)
		return
	}
	p.Withheld = []updates.Withheld{}
	if !locked {
		return
	}
	answer, err := z.ask(ctx, m.runExtra, "list-updates", "--all")
	if err != nil {
		p.Gaps.Add("withheld", err)
		p.Withheld = nil
		return
	}
	p.Withheld = leftOut(answer.packages(), p.Updates)
	for i := range p.Withheld {
		if p.Security != nil && len(p.Security) == 0 {
			p.Withheld[i].Security = new(false)
		}
	}
}

func (z zypper) patches(ctx context.Context, m machine, p *updates.Pending) {
	if len(m.glob("var/cache/zypp/raw/*/repodata/*updateinfo*")) == 0 {
		p.Gaps.Note("security_updates", "no repository of this machine publishes advisories")
		return
	}
	answer, err := z.ask(ctx, m.runExtra, "list-patches", "--category", "security")
	if err != nil {
		p.Gaps.Add("security_updates", err)
		return
	}
	p.Security = []string{}
	for _, u := range answer.updates {
		if u.Kind == "patch" {
			p.Security = append(p.Security, u.Name)
		}
	}
}

// An runFunc is [machine.runMain] or [machine.runExtra].
type runFunc func(ctx context.Context, path string, args ...string) (sysexec.Result, error)

func (zypper) ask(ctx context.Context, run runFunc, what ...string) (zypperAnswer, error) {
	r, err := run(ctx, "/usr/bin/zypper", append([]string{"--non-interactive", "--no-refresh", "--xmlout"}, what...)...)
	if err != nil {
		return zypperAnswer{}, err
	}
	answer, err := parseZypper(r.Stdout)
	if r.Exit != 0 && r.Exit != zypperSkipped {
		return answer, zypperFault(r.Exit, answer.errors+string(r.Stderr))
	}
	if err != nil {
		return answer, fault.Wrap(fault.Unavailable, "zypper answers in a form that sentinel does not know", err).
			WithFix("See what is there with: zypper list-updates")
	}
	answer.skipped = r.Exit == zypperSkipped
	return answer, nil
}

type zypperAnswer struct {
	updates []zypperUpdate
	errors  string // its error messages, one per line
	skipped bool
}

type zypperUpdate struct {
	Kind    string `xml:"kind,attr"`
	Name    string `xml:"name,attr"`
	Arch    string `xml:"arch,attr"`
	Edition string `xml:"edition,attr"`
	Old     string `xml:"edition-old,attr"`
	Source  struct {
		Alias string `xml:"alias,attr"`
	} `xml:"source"`
}

func (a zypperAnswer) packages() []updates.Package {
	list := []updates.Package{}
	for _, u := range a.updates {
		if u.Kind == "package" && u.Name != "" && u.Edition != "" {
			list = append(list, updates.Package{Name: u.Name + "." + u.Arch, Current: u.Old, Candidate: u.Edition, Origin: u.Source.Alias})
		}
	}
	return list
}

var errNoStream = errors.New("no XML of zypper")

// parseZypper reads the output of zypper --xmlout. What was read before an
// error is returned with it.
func parseZypper(out []byte) (zypperAnswer, error) {
	var a zypperAnswer
	decoder := xml.NewDecoder(bytes.NewReader(out))
	inStream := false
	for {
		token, err := decoder.Token()
		if err != nil {
			if decoder.InputOffset() >= int64(len(out)) && inStream && strings.HasSuffix(strings.TrimSpace(string(out)), "</stream>") {
				return a, nil
			}
			return a, errors.Join(errNoStream, err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		inStream = inStream || start.Name.Local == "stream"
		if err := a.element(decoder, start); err != nil {
			return a, err
		}
	}
}

func (a *zypperAnswer) element(decoder *xml.Decoder, start xml.StartElement) error {
	switch start.Name.Local {
	case "update":
		var u zypperUpdate
		if err := decoder.DecodeElement(&u, &start); err != nil {
			return err
		}
		a.updates = append(a.updates, u)
	case "message":
		var m struct {
			Type string `xml:"type,attr"`
			Text string `xml:",chardata"`
		}
		if err := decoder.DecodeElement(&m, &start); err != nil {
			return err
		}
		if m.Type != "info" {
			a.errors += strings.Join(strings.Fields(m.Text), " ") + "\n"
		}
	}
	return nil
}

func zypperFault(exit int, text string) error {
	if exit == zypperLocked {
		return faultFor(knownError{
			code: fault.Unavailable, message: "Another program is using zypper", fix: "Wait until it is done, then ask again.",
		}, errorLines(text))
	}
	return diagnose("zypper", text, []knownError{
		{"as root to do this", fault.PermissionDenied, "zypper has not processed its lists yet, which takes root", "Run: sudo zypper refresh"},
		{"Error building the cache", fault.Unavailable, "The package lists are damaged", "Fetch them anew with: sudo zypper refresh --force"},
		{"Target initialization failed", fault.Unavailable, "The list of installed packages is damaged", "Repair it with: sudo rpm --rebuilddb"},
	})
}
