// SPDX-License-Identifier: Apache-2.0

package journald

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"sentinel/internal/lazyregexp"
)

// What journald itself writes, under _TRANSPORT=driver, which no other program can have: SD_MESSAGE_JOURNAL_DROPPED and
// SD_MESSAGE_JOURNAL_MISSED of sd-messages.h. It does so with the next message of the unit that it keeps.
var losses = []string{"_TRANSPORT=driver", "MESSAGE_ID=a596d6fe7bfa4994828e72309e95d61e", "MESSAGE_ID=e9bf28e6e834481bb6f48f548ad13606"}

// lossLine is of server_dispatch_message and dev_kmsg_record of systemd.
var lossLine = lazyregexp.New(`^(?:Suppressed (\d+) messages from (\S+)|Missed (\d+) kernel messages)$`)

// A Drop is messages that the journal never had.
type Drop struct {
	Unit     string // of which they were, or Kernel
	Messages int
}

// String says what is missing.
func (d Drop) String() string {
	if d.Unit == Kernel {
		return fmt.Sprintf("%d messages of the kernel are missing: they came faster than journald read them", d.Messages)
	}
	return fmt.Sprintf("%d messages of %s are missing: they were dropped by the journal's rate limit, which all processes of a unit share", d.Messages, d.Unit)
}

// Dropped lists what journald says that it dropped in the time of a query, of its unit or of all, those with the
// most messages first. Unlike with Read, the end of ctx is an error: then there may be more.
func (j Journal) Dropped(ctx context.Context, since, until time.Time, unit string) (list []Drop, err error) {
	_, err = j.Read(ctx, Query{Since: since, Until: until, Priority: -1, losses: true}, func(e *Entry) bool {
		if d, ok := dropOf(string(e.Message)); ok && (unit == "" || d.Unit == unit) {
			list = addDrop(list, d)
		}
		return true
	})
	switch {
	case errors.Is(err, ErrNone):
		err = nil
	case err == nil:
		err = ctx.Err()
	}
	slices.SortStableFunc(list, func(a, b Drop) int { return cmp.Compare(b.Messages, a.Messages) })
	return list, err
}

func dropOf(message string) (d Drop, ok bool) {
	groups := lossLine.Get().FindStringSubmatch(message)
	if groups == nil {
		return d, false
	}
	n, err := strconv.Atoi(groups[1] + groups[3])
	if groups[2] == "" {
		return Drop{Kernel, n}, err == nil
	}
	unit, nameErr := UnitName(groups[2])
	return Drop{unit, n}, err == nil && nameErr == nil
}

func addDrop(list []Drop, d Drop) []Drop {
	at := slices.IndexFunc(list, func(known Drop) bool { return known.Unit == d.Unit })
	if at < 0 {
		return append(list, d)
	}
	list[at].Messages += d.Messages
	return list
}
