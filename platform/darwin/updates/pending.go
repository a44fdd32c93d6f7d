// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"errors"
	"fmt"
	"strings"

	"sentinel/internal/answer"
	"sentinel/internal/updates"
	"sentinel/platform/darwin/release"
)

// A pending is the answer while it is put together.
type pending struct{ updates.Pending }

// fromNotes fills in what macOS noted at its last scan, because softwareupdate did not answer.
// The notes do not say what a management profile defers.
func (p *pending) fromNotes(kept cache, system release.OS, why error) {
	const noted = "taken from what macOS noted down at its last scan, some of which may be installed by now, because "
	p.Gaps.Note("info.updates", noted+answer.Reason(why))
	p.Gaps.Note("withheld", "only softwareupdate says which updates a management profile defers")
	p.Updates = []updates.Package{}
	for _, e := range kept.updates {
		if e.standing(system) != settled {
			p.add(e, system, nil)
		}
	}
	p.judgeSecurity()
}

// fromList fills in what softwareupdate listed, and what the notes of the last scan say otherwise.
func (p *pending) fromList(list []entry, kept cache, system release.OS) {
	p.Updates, p.Withheld = []updates.Package{}, []updates.Withheld{}
	for _, e := range list {
		switch {
		case e.installed(system):
		case e.deferred:
			p.Withheld = append(p.Withheld, updates.Withheld{Name: e.title, Current: e.current(system), Candidate: e.version, Reason: updates.Held, Security: e.secures()})
		default:
			p.add(e, system, new(e.restart))
		}
	}
	p.contradict(list, kept, system)
	p.judgeSecurity()
}

// contradict adds what waits although softwareupdate does not list it, and says what of the notes
// is not known to wait. Where nothing is known to wait then, the answer is that nobody knows.
func (p *pending) contradict(list []entry, kept cache, system release.OS) {
	waits, unsure := kept.unlisted(list, system)
	if len(waits)+len(unsure) == 0 && !kept.counts(list, system) {
		return
	}
	p.Withheld = nil
	p.Gaps.Note("withheld", "softwareupdate contradicts what macOS noted at its last scan")
	for _, e := range waits {
		p.add(e, system, nil)
	}
	if len(waits) > 0 {
		p.Gaps.Note("info.updates", fmt.Sprintf("softwareupdate --no-scan does not list %s, which macOS noted at its last scan and which is newer than the running %s; a new scan tells: softwareupdate --list", names(waits), system.Full()))
	}
	doubt := fmt.Sprintf("macOS noted %s at its last scan, softwareupdate --no-scan does not list it; whether it is installed by now is not known; a new scan tells: softwareupdate --list", names(unsure))
	switch {
	case len(unsure) == 0 && len(waits) == 0:
		p.Unknown = fmt.Errorf("macOS counted %d updates at its last scan, softwareupdate --no-scan lists none; a new scan tells: softwareupdate --list", kept.count)
	case len(p.Updates) == 0:
		p.Unknown = errors.New(doubt)
	case len(unsure) > 0:
		p.Gaps.Note("info.updates", doubt)
	}
}

// names are the titles of entries for a sentence.
func names(list []entry) string {
	var titles []string
	for _, e := range list {
		title := e.title
		if !strings.Contains(title, e.version) {
			title += " " + e.version
		}
		if titles = append(titles, title); len(titles) == 2 && len(list) > 2 {
			return strings.Join(titles, ", ") + fmt.Sprintf(" and %d more", len(list)-2)
		}
	}
	return strings.Join(titles, " and ")
}

// add appends an update. Only the list of softwareupdate says whether it restarts the Mac.
func (p *pending) add(e entry, system release.OS, restart *bool) {
	p.Updates = append(p.Updates, updates.Package{
		Name: e.title, Current: e.current(system), Candidate: e.version, Label: e.label, Origin: "Apple", Restart: restart, Security: e.secures(),
	})
}

// judgeSecurity collects the updates that are known to be for security, which is all that is said
// of them unless there is none at all.
func (p *pending) judgeSecurity() {
	unsure := p.Unknown != nil
	p.Security = []string{}
	for _, one := range p.Updates {
		if one.Security == nil {
			unsure = true
			continue
		}
		p.Security = append(p.Security, one.Name)
	}
	if !unsure {
		return
	}
	p.Gaps.Note("security_updates", "Apple's list does not say what an update fixes; only those whose title says so are known, and most updates of macOS and Safari close security holes")
	if len(p.Security) == 0 {
		p.Security = nil
	}
}

// secures says that an update is for security, nil where that is not known: no title says that an
// update is not. Those for security are Apple's security updates, its rapid ones under both of their
// names, and the lists of what macOS does not let run.
func (e entry) secures() *bool {
	title := e.title + " " + e.label
	for _, words := range []string{"Security Update", "Security Response", "Background Security", "XProtect", "MRTConfigData", "Gatekeeper"} {
		if strings.Contains(title, words) {
			return new(true)
		}
	}
	return nil
}
