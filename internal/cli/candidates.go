// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/deadline"
	"sentinel/internal/ops"
	"sentinel/internal/processes"
	"sentinel/internal/sanitize"
)

// Bounds of what completions offer. Somebody waits for it with a finger on a key.
const (
	candidateLimit = 2 * time.Second
	maxCandidates  = 500
	maxCandidate   = 100 // bytes
	maxAbout       = 40  // runes
)

// A candidate is a value that a completion offers.
type candidate struct {
	value string
	about string // "" is nothing
}

// candidates prints values for completions, one a line, each with what it is
// behind a tab. What cannot be read is not offered, and no reason is given: the line that
// somebody types is not the place for it.
func (p Program) candidates(ctx context.Context, kind string) string {
	list, err := deadline.Call(ctx, candidateLimit, func(ctx context.Context) ([]candidate, error) {
		h, err := p.Open()
		if err != nil {
			return nil, err
		}
		s := session{host: h, stateDir: p.StateDir}
		return map[string]func(context.Context) ([]candidate, error){
			ops.CandidateServices: s.restartable, ops.CandidateProcesses: s.running, ops.CandidateBlocked: s.blocked,
		}[kind](ctx)
	})
	if err != nil {
		return ""
	}
	return candidateLines(list)
}

// candidateLines leaves out what a shell could take for more than a word, or for
// a flag.
func candidateLines(list []candidate) string {
	var b strings.Builder
	n := 0
	for _, c := range list {
		if !isPlainWord(c.value) {
			continue
		}
		if n++; n > maxCandidates {
			break
		}
		b.WriteString(c.value)
		if about := plainText(c.about); about != "" {
			b.WriteString("\t" + about)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func isAlphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// isPlainWord says that a value begins with a letter or a digit and has nothing in
// it that any shell reads as more than itself.
func isPlainWord(value string) bool {
	return value != "" && len(value) <= maxCandidate && isAlphanumeric(rune(value[0])) &&
		!strings.ContainsFunc(value, func(r rune) bool { return !isAlphanumeric(r) && !strings.ContainsRune("@:._-", r) })
}

// plainText replaces everything in a description that is not a letter, a digit or
// harmless in every shell.
func plainText(about string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if isAlphanumeric(r) || strings.ContainsRune(" @:._-/", r) {
			return r
		}
		return '_'
	}, sanitize.Text(about, maxAbout)))
}

// restartable lists the services, without those that are never restarted.
func (s session) restartable(ctx context.Context) ([]candidate, error) {
	kind := s.host.Services.Kind()
	manager, err := s.host.Services.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer manager.Close()
	names, err := manager.Names(ctx)
	var list []candidate
	for _, name := range slices.Sorted(slices.Values(names)) {
		if why, lifts := kind.Protection(name); why == "" || lifts {
			list = append(list, candidate{value: strings.TrimSuffix(name, ".service")})
		}
	}
	return list, err
}

// running lists the processes, the youngest first, as far as PIDs tell.
func (s session) running(ctx context.Context) ([]candidate, error) {
	table, err := s.host.Processes.Table(ctx)
	slices.SortFunc(table.Samples, func(a, b processes.Sample) int { return cmp.Compare(b.PID, a.PID) })
	var list []candidate
	for _, p := range table.Samples {
		list = append(list, candidate{strconv.Itoa(p.PID), p.Name})
	}
	return list, err
}

// blocked lists the addresses that are kept out.
func (s session) blocked(ctx context.Context) ([]candidate, error) {
	listing, err := s.blocklist().Read(ctx, maxCandidates, 1)
	var list []candidate
	for _, ip := range listing.IPs {
		list = append(list, candidate{value: ip})
	}
	return list, err
}
