// SPDX-License-Identifier: Apache-2.0

package services

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"sentinel/internal/services"
	"sentinel/internal/sysexec"
)

const (
	logProgram = "/usr/bin/log"
	// maxLog bounds how much of one minute of the log is read, in bytes.
	maxLog   = 8 << 20 // an entry takes some 900
	logLimit = 10 * time.Second
	// maxAway is how old an entry may be; where one seems older, the clock was set.
	maxAway = 12 * time.Minute
)

// Log implements [services.Manager]. The file that a job writes to is not read: who
// owns the job chooses it, and root would read anything there.
func (m *manager) Log(ctx context.Context, u services.Unit, since time.Time, lines int) ([]services.LogLine, error) {
	m.mu.Lock()
	program := m.last.Program
	m.mu.Unlock()
	last := "1m"
	if since.IsZero() {
		last = "10m"
	}
	r, err := m.Runner.Run(ctx, sysexec.Command{
		Path:      logProgram,
		Args:      []string{"show", "--last", last, "--style", "ndjson", "--predicate", predicate(u.Name, program)},
		MaxOutput: maxLog,
		Timeout:   logLimit,
	})
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	if r.Exit != 0 {
		return nil, fmt.Errorf("read the log: log ended with status %d", r.Exit)
	}
	texts, read := parseLog(r.Stdout, program, since, m.Now())
	if !read {
		return nil, errors.New("read the log: log printed no list of entries")
	}
	return texts[max(0, len(texts)-lines):], nil
}

// predicate asks for what launchd says about the job and for what its program
// says. The label has been checked; a program whose name could end the string is left out.
func predicate(name, program string) string {
	label := name[strings.LastIndexByte(name, '/')+1:]
	ask := `(process == "launchd" AND eventMessage CONTAINS "` + label + `")`
	if base := path.Base(program); program != "" && !strings.ContainsFunc(base, notOfProgram) {
		ask += ` OR process == "` + base + `"`
	}
	return ask
}

func notOfProgram(r rune) bool {
	letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	return !letter && (r < '0' || r > '9') && !strings.ContainsRune(" ._-+", r)
}

// stampForm is that of timestamps, in whatever zone.
const stampForm = "2006-01-02 15:04:05.000000-0700"

// parseLog reads a line of JSON for each entry, and one at the end that says that there are no more. Each
// entry is one text, whatever lines are in it: what a program logs can look like an entry. What was
// written before since is left out, and so is everything that is no entry; read is false where nothing is one.
func parseLog(raw []byte, program string, since, now time.Time) (texts []services.LogLine, read bool) {
	texts = []services.LogLine{}
	for line := range bytes.Lines(raw) {
		var e entry
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		stamp, err := time.Parse(stampForm, e.Time)
		read = read || err == nil || e.Finished == 1
		if err != nil || !recent(stamp, since, now) {
			continue
		}
		texts = append(texts, services.LogLine{At: near(stamp, now), Text: e.text(program), Foreign: e.foreign(program)})
	}
	return texts, read
}

// An entry is what an object of the log holds.
type entry struct {
	Time     string `json:"timestamp"`
	Path     string `json:"processImagePath"`
	PID      int    `json:"processID"`
	Text     string `json:"eventMessage"`
	Finished int    `json:"finished"`
}

// text says whose entry it is and what it tells. Anybody can give a program the name of the job's or of
// launchd: one that is neither shows its whole path.
func (e entry) text(program string) string {
	who := path.Base(e.Path)
	if e.foreign(program) {
		who = e.Path
	}
	return strings.Join(strings.Fields(fmt.Sprintf("%s[%d] %s", who, e.PID, e.Text)), " ")
}

func (e entry) foreign(program string) bool { return e.Path != program && e.Path != "/sbin/launchd" }

// near is the time of an entry; one that cannot be of the time that was asked for has none.
func near(stamp, now time.Time) time.Time {
	if away := now.Sub(stamp); away < -time.Minute || away > maxAway {
		return time.Time{}
	}
	return stamp
}

// recent takes entries from since on. All are of the last minute: where a time says
// otherwise, the clock was set, and it does not count.
func recent(stamp, since, now time.Time) bool {
	away := now.Sub(stamp)
	elsewhere := away > 2*time.Minute || away < -time.Minute
	return elsewhere || !stamp.Before(since.Truncate(time.Millisecond))
}
