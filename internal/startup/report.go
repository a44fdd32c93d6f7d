// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/sanitize"
)

// Bounds of an answer.
const (
	DefaultLimit = 40    // rows
	maxBrief     = 7_500 // bytes of JSON; the document's header goes before them
	maxName      = 120   // runes
	maxPath      = 200
	maxPlace     = 100 // of a path that is no plain one, beside others
	maxRow       = 800 // bytes of JSON, where rows have a bound
	maxShown     = 4   // programs of an item
)

// A Status says why an item is where it is in the answer.
type Status string

// The statuses, in the order of the answer.
const (
	New        Status = "new"         // not there at the last run
	Changed    Status = "changed"     // another content than at the last run
	Unpackaged Status = "unpackaged"  // of no package
	Altered    Status = "altered"     // its package has another content
	Unknown    Status = "unknown"     // whether a package owns it cannot be told
	Shipped    Status = "as_packaged" // as its package has it
)

var statuses = []Status{New, Changed, Unpackaged, Altered, Unknown, Shipped}

// A Report is the answer.
type Report struct {
	// ItemsTotal counts everything that starts by itself and was seen.
	ItemsTotal int `json:"items_total"`
	// Since is the time of the run that this one is compared with; absent for the first run, and
	// without root. RFC 3339, UTC.
	Since        string `json:"since,omitempty"`
	FirstRun     bool   `json:"first_run"`               // there was none that was kept
	NewTotal     *int   `json:"new_total,omitempty"`     // items that were not there then
	ChangedTotal *int   `json:"changed_total,omitempty"` // items with another content than then
	GoneTotal    *int   `json:"gone_total,omitempty"`    // items that were there then and are not now
	// Gone are files that had more entries then.
	Gone []string `json:"gone,omitempty"`
	// UnpackagedTotal counts the items whose file no package owns; absent without package data.
	UnpackagedTotal *int `json:"unpackaged_total,omitempty"`
	// AlteredTotal counts the items whose file is not as its package has it; absent where nothing
	// can be compared.
	AlteredTotal *int `json:"altered_total,omitempty"`
	// Items are what stands out: new, changed, unpackaged, altered, and what has a warning.
	Items     []Item `json:"items"`
	Truncated bool   `json:"truncated"` // more stands out than items shows
	// Rest counts what items does not show, by kind.
	Rest []Count `json:"rest"`
	// Unavailable lists places that were not read, and why nothing is compared.
	Unavailable answer.Gaps `json:"unavailable"`
}

// A Count counts the items of a kind.
type Count struct {
	Kind  Kind `json:"kind"`  // of the items, such as cron_job
	Count int  `json:"count"` // items of this kind
}

// An Item is something that starts by itself.
type Item struct {
	Status   Status    `json:"status"`             // new, changed, unpackaged, altered, unknown or as_packaged
	Kind     Kind      `json:"kind"`               // by what it starts, such as timer_unit, cron_job, authorized_key
	Name     string    `json:"name"`               // by which people know it
	File     string    `json:"file"`               // that makes it start
	Line     int       `json:"line,omitempty"`     // in the file, if it is not the whole file
	When     string    `json:"when,omitempty"`     // what starts it
	User     string    `json:"user,omitempty"`     // as whom it runs, or who may log in
	Owner    string    `json:"owner,omitempty"`    // of the file, if that is not root
	Enabled  *bool     `json:"enabled,omitempty"`  // absent if that is not known
	Programs []string  `json:"programs,omitempty"` // that it runs or loads, without arguments
	Detail   string    `json:"detail,omitempty"`   // of a key its fingerprint and options, of a D-Bus service its unit
	Package  string    `json:"package,omitempty"`  // that owns the file, or its publisher; absent if there is none
	Warnings []Warning `json:"warnings,omitempty"` // reasons to look at it
	// FileChanged is when the content of the file last changed, as far as the file system tells:
	// root can set it. RFC 3339, UTC.
	FileChanged string `json:"file_changed,omitempty"`
	Size        int64  `json:"size,omitempty"` // of the file in bytes, if its content is not shown

	changed time.Time
	by      string // as [Entry.By]
}

// Options say how much is answered.
type Options struct {
	Limit int    // rows; 0 is all
	Brief bool   // no larger than a program takes
	All   bool   // also what does not stand out
	State string // where root keeps the runs; "" if this one is neither compared nor kept
	Now   time.Time
}

// Collect finds what starts by itself and compares it with the last run.
func Collect(ctx context.Context, source Source, o Options) (Report, error) {
	found, err := source.Startup(ctx)
	if err != nil {
		return Report{}, err
	}
	r := Report{Unavailable: answer.Gaps{}, Items: []Item{}, Rest: []Count{}}
	r.note(found, o)
	c := r.compareAndKeep(found, o)
	r.ItemsTotal = len(found.Entries)
	items := make([]Item, len(found.Entries))
	for i, e := range found.Entries {
		items[i] = item(e, c)
	}
	r.count(items, found)
	slices.SortStableFunc(items, byConcern)
	shown := items
	if !o.All {
		n := slices.IndexFunc(items, func(i Item) bool { return !i.standsOut() })
		if n >= 0 {
			shown = items[:n]
		}
	}
	r.show(items, len(shown), o)
	return r, nil
}

// note lists what was not read, some places by name, or all to whoever asks for all.
func (r *Report) note(found Found, o Options) {
	add := r.Unavailable.AddPlaces
	if o.Limit == 0 && !o.Brief {
		add = r.Unavailable.AddAllPlaces
	}
	r.places(found, found.Unread, add, "", "more places that were not read: ")
	r.places(found, found.Unseen, add, ".warnings", "more files of which not all programs were looked at: ")
	r.Unavailable.Add("unpackaged_total", found.Packages)
}

func (r *Report) places(found Found, list []Unread, add func([]answer.Place) []answer.Place, part, more string) {
	var places []answer.Place
	for _, u := range list {
		places = append(places, answer.Place{Field: "items." + place(u.Path) + part, Reason: answer.Reason(u.Err), Owner: found.homeOf(u.Path)})
	}
	if rest := add(places); len(rest) > 0 {
		r.Unavailable.Note("items", more+itoa(len(rest))+" ("+owners(rest)+")")
	}
}

// maxOwners is how many users are named who have most of what is not.
const maxOwners = 4

// owners counts places by whose they are, those of most first.
func owners(list []answer.Place) string {
	counts := map[string]int{}
	for _, p := range list {
		counts[cmp.Or(p.Owner, "root")]++
	}
	most := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b)) })
	var texts []string
	for _, user := range most[:min(len(most), maxOwners)] {
		texts = append(texts, sanitize.Text(user, 32)+": "+itoa(counts[user]))
	}
	return strings.Join(texts, ", ") + strings.Repeat(" …", min(1, len(most)/(maxOwners+1)))
}

func (r *Report) count(items []Item, found Found) {
	if found.Packages != nil {
		return
	}
	unpackaged, altered := 0, 0
	for _, e := range found.Entries {
		switch e.Origin {
		case NoPackage:
			unpackaged++
		case Modified:
			altered++
		}
	}
	if r.UnpackagedTotal = &unpackaged; found.Compared {
		r.AlteredTotal = &altered
	}
}

// show takes the first n items into the report, as far as there is room.
func (r *Report) show(items []Item, n int, o Options) {
	places, room := n, math.MaxInt
	if o.Limit > 0 {
		places = min(places, o.Limit)
	}
	shorten := func(*Item) {}
	if o.Brief {
		r.Rest = countByKind(items) // as long as it can be
		room, shorten = maxBrief-answer.Size(r), (*Item).shorten
	}
	picked, rest := answer.ShareRoom(items[:n], places, room, func(i Item) string { return i.by }, shorten)
	r.Items, r.Rest, r.Truncated = picked, countByKind(append(rest, items[n:]...)), len(picked) < n
}

func countByKind(items []Item) []Count {
	counts := map[Kind]int{}
	for _, i := range items {
		counts[i.Kind]++
	}
	list := make([]Count, 0, len(counts))
	for kind, n := range counts {
		list = append(list, Count{kind, n})
	}
	slices.SortFunc(list, func(a, b Count) int {
		return cmp.Or(b.Count-a.Count, cmp.Compare(a.Kind, b.Kind))
	})
	return list
}

// standsOut reports whether somebody should look at the item.
func (i Item) standsOut() bool {
	return i.Status != Shipped && i.Status != Unknown || slices.ContainsFunc(i.Warnings, func(w Warning) bool { return w != ProgramMissing })
}

// byConcern orders items: by status, then what has a warning, then by kind, then what changed last.
func byConcern(a, b Item) int {
	return cmp.Or(
		cmp.Compare(a.rank(), b.rank()),
		cmp.Compare(a.worst(), b.worst()),
		cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)),
		b.changed.Compare(a.changed),
		cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Name, b.Name),
	)
}

// rank is where the status of an item comes. What only has a warning comes before the rest.
func (i Item) rank() int {
	n := slices.Index(statuses, i.Status) * 2
	if i.Status == Shipped || i.Status == Unknown {
		n = 2 * len(statuses)
		if !i.standsOut() {
			n++
		}
	}
	return n
}

func (i Item) worst() int {
	if len(i.Warnings) == 0 {
		return len(warnings)
	}
	return slices.Index(warnings, i.Warnings[0])
}
