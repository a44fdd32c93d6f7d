// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"sentinel/platform/darwin/plist"
)

// preferences is where softwareupdated keeps what it found, below the root.
// Everyone may read it.
const preferences = "Library/Preferences/com.apple.SoftwareUpdate.plist"

// A cache is what macOS found when it last looked for updates.
type cache struct {
	updates []entry   // nil is unknown
	count   uint64    // how many it found; 0 where it does not say
	build   string    // of macOS that looked; empty is unknown
	scanned time.Time // zero is unknown
}

// preferenceFile is com.apple.SoftwareUpdate.plist (macOS 10.13 to 26). A value
// of another type would fail the whole file, so what is not sure is any.
type preferenceFile struct {
	Updates         any `plist:"RecommendedUpdates"`
	Count           any `plist:"LastRecommendedUpdatesAvailable"`
	Build           any `plist:"LastAttemptBuildVersion"` // "10.15.7 (19H114)"
	Last            any `plist:"LastSuccessfulDate"`
	LastFull        any `plist:"LastFullSuccessfulDate"`
	LastBackground  any `plist:"LastBackgroundSuccessfulDate"`
	LastBackground2 any `plist:"LastSuccessfulBackgroundMSUScanDate"`
}

// readCache reads the preferences below root.
func readCache(root string) (cache, error) {
	f, err := os.Open(filepath.Join(root, preferences))
	if err != nil {
		return cache{}, err
	}
	defer f.Close() //nolint:errcheck // only read from
	var p preferenceFile
	if err := plist.Read(f, &p); err != nil {
		return cache{}, err
	}
	return p.cache(), nil
}

func (p preferenceFile) cache() cache {
	var c cache
	for _, value := range []any{p.Last, p.LastFull, p.LastBackground, p.LastBackground2} {
		if t, ok := value.(time.Time); ok && t.After(c.scanned) {
			c.scanned = t
		}
	}
	c.count, _ = p.Count.(uint64)
	build, _ := p.Build.(string)
	if _, build, ok := strings.Cut(build, "("); ok {
		c.build = strings.TrimSuffix(build, ")")
	}
	list, ok := p.Updates.([]any)
	if !ok || len(list) > maxUpdates {
		return c
	}
	updates := []entry{}
	for _, value := range list {
		e, ok := cached(value)
		if !ok {
			return c // what it lacks is not known
		}
		updates = append(updates, e)
	}
	c.updates = updates
	return c
}

// cached reads one member of RecommendedUpdates. It does not say whether a
// restart is needed.
func cached(value any) (entry, bool) {
	m, ok := value.(map[string]any)
	if !ok {
		return entry{}, false
	}
	text := func(key string) string {
		s, _ := m[key].(string)
		return s
	}
	e := entry{label: text("Identifier"), title: text("Display Name"), version: text("Display Version"), recommended: true}
	if e.title == "" {
		e.title = e.label
	}
	return e, e.title != ""
}
