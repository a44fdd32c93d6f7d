// SPDX-License-Identifier: Apache-2.0

//go:build linux

package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"sentinel/internal/health"
	"sentinel/platform/linux/logins"
	"sentinel/platform/unix/hostfile"
)

// errNoRecord is about machines whose failed logins are in the journal alone: to start a program that
// reads it each minute costs more than all else that health reads.
var errNoRecord = errors.New("no file here records them, and health does not read the journal")

// maxGuessers is how many addresses are named.
const maxGuessers = 3

// guessing is how many failures are told although there may be more: whoever fills the log would silence
// what is known. Fewer, with more unknown, are no figure.
const guessing = 20

// failedLogins counts the failed logins of the last hour and names the addresses, those of the most
// first. An address is named only where root alone could have written it.
func (s source) failedLogins(ctx context.Context) (health.Reading, error) {
	now := time.Now()
	lately, err := logins.New(s.root, s.runner, func() time.Time { return now }).Lately(ctx, now.Add(-time.Hour))
	if hostfile.Missing(err) {
		return health.Reading{}, errNoRecord
	}
	all := max(lately.Failures, lately.Claimed)
	if err != nil && all < guessing {
		return health.Reading{}, err
	}
	r := health.Reading{Value: float64(all), Names: guessers(lately.ByAddress)}
	if more := all - lately.Failures; more > 0 {
		r.Proven = new(float64(lately.Failures))
		r.Names = append(r.Names, fmt.Sprintf("%d stand in %s alone, where any user can write", more, lately.File))
	}
	return r.OrMore(err)
}

// guessers names the addresses of the most.
func guessers(byAddress map[string]int) (names []string) {
	list := slices.SortedFunc(maps.Keys(byAddress), func(a, b string) int {
		return cmp.Or(cmp.Compare(byAddress[b], byAddress[a]), cmp.Compare(a, b))
	})
	for _, address := range list[:min(maxGuessers, len(list))] {
		names = append(names, fmt.Sprintf("%d from %s", byAddress[address], address))
	}
	if more := len(list) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and from %d more", more))
	}
	return names
}
