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
// reads it costs more than all else that health reads.
var errNoRecord = errors.New("no file here records them, and health does not read the journal")

// maxGuessers is how many addresses are named.
const maxGuessers = 3

// guessing is how many failures are told although there may be more: whoever fills the log would silence
// what is known. Fewer, with more unknown, are no figure.
const guessing = 20

// failedLogins counts the failed logins of the last hour and names the addresses, those of the most
// first.
func (s source) failedLogins(context.Context) (health.Reading, error) {
	now := time.Now()
	lately, err := logins.New(s.root, nil, func() time.Time { return now }).Lately(now.Add(-time.Hour))
	if hostfile.Missing(err) {
		return health.Reading{}, errNoRecord
	}
	if err != nil && lately.Failures < guessing {
		return health.Reading{}, err
	}
	r := health.Reading{Value: float64(lately.Failures)}
	guessers := slices.SortedFunc(maps.Keys(lately.ByAddress), func(a, b string) int {
		return cmp.Or(cmp.Compare(lately.ByAddress[b], lately.ByAddress[a]), cmp.Compare(a, b))
	})
	for _, address := range guessers[:min(maxGuessers, len(guessers))] {
		r.Names = append(r.Names, fmt.Sprintf("%d from %s", lately.ByAddress[address], address))
	}
	if more := len(guessers) - len(r.Names); more > 0 {
		r.Names = append(r.Names, fmt.Sprintf("and from %d more", more))
	}
	if err != nil {
		r.Names = append(r.Names, "perhaps more: "+err.Error())
	}
	return r, nil
}
