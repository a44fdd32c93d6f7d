// SPDX-License-Identifier: Apache-2.0

package services

import (
	"bytes"
	"context"
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
	maxLog   = 1 << 20
	logLimit = 10 * time.Second
	// maxAway is how old an entry may be; one that seems older was not written in UTC.
	maxAway = 12 * time.Minute
)

// Log implements [services.Manager]. The file that a job writes to is not read: who
// owns the job chooses it, and root would read anything there.
func (m *manager) Log(ctx context.Context, name string, since time.Time, lines int) ([]services.LogLine, error) {
	m.mu.Lock()
	program := m.last.Program
	m.mu.Unlock()
	last := "1m"
	if since.IsZero() {
		last = "10m"
	}
	r, err := m.Runner.Run(ctx, sysexec.Command{
		Path:      logProgram,
		Args:      []string{"show", "--last", last, "--style", "compact", "--predicate", predicate(name, program)},
		MaxOutput: maxLog,
		Timeout:   logLimit,
	})
	if err != nil {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	if r.Exit != 0 {
		return nil, fmt.Errorf("read the log: log ended with status %d", r.Exit)
	}
	if !bytes.Contains(r.Stdout, []byte("Timestamp")) { // the header, which is there without entries too
		return nil, errors.New("read the log: log printed no list of entries")
	}
	texts := parseLog(r.Stdout, since, m.Now())
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

const stampForm = "2006-01-02 15:04:05.000"

// parseLog reads the compact style, a line each, below a header:
//
//	Timestamp               Ty Process[PID:TID]
//	2026-03-04 05:06:07.890 E  web[812:1f3a] cannot open port
//
// A line without a time goes on with the one before it. What was written before
// since is left out, and so is everything that is no entry.
func parseLog(raw []byte, since, now time.Time) []services.LogLine {
	texts := []services.LogLine{}
	wanted := false
	var at time.Time
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimRight(line, "\r\n")
		stamp, text, found := entry(line)
		if found {
			wanted, at = recent(stamp, since, now), time.Time{}
			if away := now.Sub(stamp); away >= -time.Minute && away <= maxAway {
				at = stamp
			}
		}
		if wanted && strings.TrimSpace(text) != "" {
			texts = append(texts, services.LogLine{At: at, Text: strings.TrimSpace(text)})
		}
	}
	return texts
}

// entry cuts the time and the type off a line.
func entry(line string) (stamp time.Time, text string, found bool) {
	if len(line) < len(stampForm) {
		return time.Time{}, line, false
	}
	stamp, err := time.Parse(stampForm, line[:len(stampForm)])
	if err != nil {
		return time.Time{}, line, false
	}
	kind, text, _ := strings.Cut(strings.TrimLeft(line[len(stampForm):], " "), " ")
	if len(kind) > 2 {
		text = kind + " " + text
	}
	return stamp, text, true
}

// recent takes entries from since on. All are of the last minute: where a time says
// otherwise, log(1) has not used the time zone that it was given, and it does not count.
func recent(stamp, since, now time.Time) bool {
	away := now.Sub(stamp)
	elsewhere := away > 2*time.Minute || away < -time.Minute
	return elsewhere || !stamp.Before(since.Truncate(time.Millisecond))
}
