// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/humanize"
	"sentinel/internal/statefile"
)

// StateName is the file in the state directory with what started by itself at the last run. It
// names files of all users, so only root can read it.
const StateName = "startup.json"

const maxState = 8 << 10 // KiB

// A State holds what started by itself at a run: of each file, by its quoted name, the digests of
// its entries and of their content.
type State struct {
	At    time.Time                    `json:"at"`
	Files map[string]map[string]string `json:"files"`
}

// Time implements statefile.Run.
func (s State) Time() time.Time { return s.At }

// Check implements statefile.State.
func (s State) Check() error {
	entries := 0
	for _, list := range s.Files {
		entries += len(list)
	}
	if entries > 2*MaxEntries {
		return statefile.ErrForm
	}
	return nil
}

// maxQuoted is how many bytes of the file a path may take: with it twice [MaxEntries] files fit, whatever
// they are called.
const maxQuoted = 150

// quoted is a path as the state has it. A long one, which is rare, is replaced by its digest.
func quoted(file string) string {
	if len(file) > maxQuoted {
		return digested + digest(file)
	}
	text := strconv.QuoteToASCII(file)
	if text = text[1 : len(text)-1]; statefile.Length(text) > maxQuoted {
		return digested + digest(file)
	}
	return text
}

// digested begins a name that says nothing of where the file is.
const digested = "sha256:"

// chosenBy is the user in whose home a file of the state is; "" for one of the system. Of those with long names, which
// users can give to any number, nobody knows: they are as of one user.
func (f Found) chosenBy(quoted string) string {
	if strings.HasPrefix(quoted, digested) {
		return digested
	}
	file, err := strconv.Unquote(`"` + quoted + `"`)
	if err != nil {
		return f.homeOf(quoted)
	}
	return f.homeOf(file)
}

// digest is short, and long enough that two of ten thousand entries do not have the same.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:10])
}

func key(e Entry) string { return digest(string(e.Kind) + "\x00" + e.Identity) }

// stateOf is the state to keep. What could not be read this time stays as it was, for the next run
// that can; where that is too much, the place loses most that had most, and lost counts the entries.
func stateOf(found Found, last State, now time.Time) (s State, lost int) {
	s = State{At: now.UTC().Truncate(time.Second), Files: map[string]map[string]string{}}
	for _, e := range found.Entries {
		name := quoted(e.File)
		if s.Files[name] == nil {
			s.Files[name] = map[string]string{}
		}
		s.Files[name][key(e)] = digest(e.Content)
	}
	unread := unreadOf(found, last, s)
	var counts []int
	for _, names := range unread {
		counts = append(counts, last.count(names))
	}
	share := statefile.Share(counts, 2*MaxEntries-len(found.Entries))
	for _, names := range unread {
		left := share
		for _, name := range names {
			entries := last.Files[name]
			if left -= len(entries); left >= 0 {
				s.Files[name] = entries
			} else {
				lost += len(entries)
			}
		}
	}
	return s, lost
}

// count is how many entries files have.
func (s State) count(names []string) (n int) {
	for _, name := range names {
		n += len(s.Files[name])
	}
	return n
}

// unreadOf are the files of the last run that are, or are below, each place that could not be read.
func unreadOf(found Found, last, now State) map[string][]string {
	list, unread := map[string][]string{}, placesOf(found.Unread)
	for _, name := range slices.Sorted(maps.Keys(last.Files)) {
		if place, is := unread.above(name); is && now.Files[name] == nil {
			list[place] = append(list[place], name)
		}
	}
	return list
}

// places are quoted, without a slash at the end.
type places map[string]bool

func placesOf(unread []Unread) places {
	p := places{}
	for _, u := range unread {
		p[strings.TrimSuffix(quoted(u.Path), "/")] = true
	}
	return p
}

// hold reports whether a file of the state is, or is below, one of the places. Both are many.
func (p places) hold(name string) bool {
	_, is := p.above(name)
	return is
}

// above returns the nearest place that a file of the state is, or is below.
func (p places) above(name string) (place string, is bool) {
	for at := len(name); at >= 0; at = strings.LastIndexByte(name[:at], '/') {
		if p[name[:at]] {
			return name[:at], true
		}
	}
	return "", false
}

// A comparison is with the last run; the zero value is with none.
type comparison struct {
	last  State
	known bool
}

// status is New or Changed; "" for what was there as it is.
func (c comparison) status(e Entry) Status {
	if !c.known {
		return ""
	}
	before, known := c.last.Files[quoted(e.File)][key(e)]
	switch {
	case !known:
		return New
	case before != digest(e.Content):
		return Changed
	default:
		return ""
	}
}

// compareAndKeep compares with the last run and keeps this one in its place. An error costs only
// the comparison.
func (r *Report) compareAndKeep(found Found, o Options) comparison {
	if o.State == "" {
		r.Unavailable.Note("since", "what is new can be told only as root, who keeps what the last run saw")
		return comparison{}
	}
	kept, err := statefile.Read[statefile.File[State]](o.State, maxState)
	c := comparison{kept.Since(o.Now), err == nil}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.FirstRun = true
		r.Unavailable.Note("since", "this is the first run that is kept; the next one tells what is new")
	case err != nil:
		r.Unavailable.Note("since", "the record of the last run cannot be used: "+err.Error())
	default:
		r.compare(found, c)
	}
	if c.known && kept.Continues(o.Now) {
		return c
	}
	next, lost := stateOf(found, kept.Last, o.Now)
	if lost > 0 {
		r.Unavailable.Note("since", "what was known of "+humanize.Count(lost, "entry", "entries")+" in places that were not read cannot be kept: the next run takes them for new")
	}
	if err := statefile.Write(o.State, statefile.NewFile(kept.Add(next)), maxState); err != nil {
		r.Unavailable.Note("since", "this run cannot be kept for the next: "+err.Error())
	}
	return c
}

// compare counts what is new, changed and gone.
func (r *Report) compare(found Found, c comparison) {
	fresh, changed, gone := 0, 0, 0
	now := map[string]int{}
	for _, e := range found.Entries {
		now[quoted(e.File)]++
		switch c.status(e) {
		case New:
			fresh++
		case Changed:
			changed++
		}
	}
	unread := placesOf(found.Unread)
	for name, entries := range c.last.Files {
		if fewer := len(entries) - now[name]; fewer > 0 && !unread.hold(name) {
			gone += fewer
			r.Gone = append(r.Gone, name)
		}
	}
	slices.Sort(r.Gone)
	r.Gone = answer.Names(r.Gone, found.chosenBy, place)
	r.Since = c.last.At.UTC().Format(time.RFC3339)
	r.NewTotal, r.ChangedTotal, r.GoneTotal = &fresh, &changed, &gone
}
