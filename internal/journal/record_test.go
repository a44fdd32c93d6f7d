// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"errors"
	"strings"
	"testing"
)

func TestOnlyWholeRecordsAreRead(t *testing.T) {
	good := Record{Seq: 1, Event: EventIntent}
	next := Record{Seq: maxSeq, Event: EventOutcome, Prev: strings.Repeat("a", 64)}
	for name, test := range map[string]struct {
		record Record
		edit   func(line string) string
		want   error
	}{
		"first":                {good, nil, nil},
		"last":                 {next, nil, nil},
		"no number":            {Record{Event: EventIntent}, nil, errNoRecord},
		"a number too large":   {Record{Seq: maxSeq + 1, Event: EventIntent}, nil, errNoRecord},
		"no event":             {Record{Seq: 1}, nil, errNoRecord},
		"unknown event":        {Record{Seq: 1, Event: "x"}, nil, errNoRecord},
		"odd hash before":      {Record{Seq: 1, Event: EventIntent, Prev: "x"}, nil, errNoRecord},
		"capitals in the hash": {Record{Seq: 2, Event: EventIntent, Prev: strings.Repeat("A", 64)}, nil, errNoRecord},
		"too long":             {Record{Seq: 1, Event: EventIntent, Reason: strings.Repeat("x", maxLine)}, nil, errNoRecord},
		"empty":                {good, func(string) string { return "" }, errNoRecord},
		"a line end":           {good, func(line string) string { return line + "\r" }, errNoRecord},
		"a member behind":      {good, func(line string) string { return strings.TrimSuffix(line, "}") + `,"x":1}` }, errNoRecord},
		"another event":        {good, func(line string) string { return strings.Replace(line, "intent", "outcome", 1) }, errChanged},
		"a blank":              {good, func(line string) string { return strings.Replace(line, ":", ": ", 1) }, errChanged},
		"a second hash":        {good, func(line string) string { return strings.Replace(line, "{", `{"hash":"x",`, 1) }, errChanged},
	} {
		raw, _, err := test.record.encode()
		if err != nil {
			t.Fatal(err)
		}
		line := string(raw)
		if test.edit != nil {
			line = test.edit(line)
		}
		r, err := parseLine([]byte(line))
		if !errors.Is(err, test.want) || err == nil && r.Seq != test.record.Seq {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}
