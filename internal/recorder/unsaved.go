// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"syscall"
)

// Unsaved returns the newest sample of the ring if its run ended, as in a power cut, before it had kept what
// it counted: previous, which was kept last, is of the sample before. The next sample begins there again, and
// finds the same events. Nil is the usual case.
func (r Ring) Unsaved(previous *Last) *Sample {
	if previous == nil {
		return nil
	}
	line, err := r.lastLine()
	if err != nil {
		return nil
	}
	record, err := parse(line)
	before := previous.Sample
	newer := record.Boot == before.Boot && record.Up > before.Up || record.Boot != before.Boot && record.Time >= before.Time
	if err != nil || !newer {
		return nil
	}
	s, err := record.Sample()
	if err != nil {
		return nil
	}
	return &s
}

// lastLine is the last one of the newest segment, without its newline.
func (r Ring) lastLine() ([]byte, error) {
	numbers, err := r.segments()
	if err != nil || len(numbers) == 0 {
		return nil, errRecord
	}
	f, err := os.OpenFile(r.path(numbers[len(numbers)-1]), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read from
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	from := max(0, info.Size()-maxRecord-1)
	tail := make([]byte, info.Size()-from)
	if _, err := f.ReadAt(tail, from); err != nil {
		return nil, err
	}
	tail, whole := bytes.CutSuffix(tail, []byte{'\n'})
	if !whole {
		return nil, errRecord
	}
	return tail[bytes.LastIndexByte(tail, '\n')+1:], nil
}

// ofOneBoot are events that another boot may have had just so.
var ofOneBoot = []string{Booted, OOMKill, ClockSet}

// told counts how often an event was told by the sample that was not saved, and takes that off what is left
// of it.
func (t *taker) told(e Event) int {
	if t.Unsaved == nil || t.Unsaved.Boot != t.now.Sample.Boot && slices.Contains(ofOneBoot, e.Kind) {
		return 0
	}
	at := slices.IndexFunc(t.untold, func(told Event) bool { return told.Kind == e.Kind && told.subject() == e.subject() })
	if at < 0 {
		return 0
	}
	n := min(e.times(), t.untold[at].times())
	if t.untold[at].Times = t.untold[at].times() - n; t.untold[at].Times == 0 {
		t.untold = slices.Delete(t.untold, at, at+1)
	}
	return n
}

// subject is what an event is about: messages of reasons and steps of the clock have figures that differ
// from one look to the next.
func (e Event) subject() string {
	if e.Kind != Reason && e.Kind != ClockSet {
		return e.Text
	}
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, e.Text)
}
