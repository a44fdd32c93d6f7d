// SPDX-License-Identifier: Apache-2.0

package blocklist

import (
	"bytes"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

// began is when blocks of the tests begin.
var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const golden = `{"version":1,"entries":[
{"ip":"203.0.113.7","reason":"brute <force> & \"more\"","blocked_by":"bob","blocked_at":"2026-03-01T12:00:00Z","expires_at":"2026-03-02T12:00:00Z"},
{"ip":"2001:db8::7","reason":"","blocked_by":"root","blocked_at":"2026-03-01T12:00:00Z","suspended":"the default gateway","forced":true}
]}
`

func goldenEntries() []entry {
	return []entry{
		{Address: netip.MustParseAddr("203.0.113.7"), Reason: `brute <force> & "more"`, By: "bob", At: began, Ends: began.Add(day)},
		{Address: netip.MustParseAddr("2001:db8::7"), By: "root", At: began, Suspended: "the default gateway", Forced: true},
	}
}

func TestFileHasOneEntryToALine(t *testing.T) {
	raw, err := encode(goldenEntries())
	if err != nil || string(raw) != golden {
		t.Errorf("got %s, %v", raw, err)
	}
	if raw, err := encode(nil); err != nil || string(raw) != "{\"version\":1,\"entries\":[\n]}\n" {
		t.Errorf("an empty list: %q, %v", raw, err)
	}
}

// Two ways of writing must not differ.
func TestEntriesAreWrittenAsJSONWouldBe(t *testing.T) {
	for _, e := range append(goldenEntries(), entry{Address: netip.MustParseAddr("::1"), Reason: "<&>", By: "'", At: began, Ends: began.Add(day), Suspended: "x", Forced: true}) {
		fast, err := e.append(nil)
		slow, serr := appendAny(nil, e)
		if err != nil || serr != nil || string(fast) != string(slow) {
			t.Errorf("%s, %v and %s, %v", fast, err, slow, serr)
		}
	}
}

func TestFileIsReadAsWritten(t *testing.T) {
	if got, err := decode([]byte(golden)); err != nil || !slices.Equal(got, goldenEntries()) {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := decode([]byte("{\"version\":1,\"entries\":[\n]}\n")); err != nil || len(got) != 0 {
		t.Errorf("an empty list: %+v, %v", got, err)
	}
}

func TestFileMayBeLaidOutByHand(t *testing.T) {
	text := `{ "entries" : [ {"blocked_at":"2026-03-01T13:00:00+01:00", "blocked_by":"bob", "reason":"x",
		"ip":"2001:0DB8::7"} ], "version": 1 }`
	want := []entry{{Address: netip.MustParseAddr("2001:db8::7"), Reason: "x", By: "bob", At: began}}
	if got, err := decode([]byte(text)); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestEveryCutIsDamage(t *testing.T) {
	whole := strings.TrimRight(golden, "\n")
	for n := range len(whole) {
		if got, err := decode([]byte(golden[:n])); err == nil {
			t.Errorf("cut after %d bytes it reads as %+v", n, got)
		}
	}
}

func TestDamageIsNeverTakenForAList(t *testing.T) {
	line := `{"ip":"192.0.2.1","reason":"","blocked_by":"","blocked_at":"2026-03-01T12:00:00Z"}`
	with := func(old, fresh string) string {
		return `{"version":1,"entries":[` + strings.Replace(line, old, fresh, 1) + `]}`
	}
	if _, err := decode([]byte(with("", ""))); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"nothing": "", "zeros": strings.Repeat("\x00", 400), "garbage": "\x7fELF\x02\x01", "null": "null", "a list": "[]", "a number": "7", "no entries": `{"version":1}`,
		"entries null": `{"version":1,"entries":null}`, "no version": `{"entries":[]}`, "version 0": `{"version":0,"entries":[]}`, "version text": `{"version":"1","entries":[]}`,
		"unknown member": `{"version":1,"entries":[],"x":1}`, "unknown in an entry": with(`"reason"`, `"x":1,"reason"`),
		"member of an entry outside": `{"version":1,"entries":[],"ip":"192.0.2.1"}`, "version twice": `{"version":1,"version":1,"entries":[]}`, "entries twice": `{"version":1,"entries":[` + line + `],"entries":[]}`,
		"address twice in an entry": with(`"reason"`, `"ip":"192.0.2.2","reason"`), "another spelling": with(`"ip"`, `"IP"`), "a fold": with(`"blocked_by"`, `"bloc`+"\u212a"+`ed_by"`),
		"an address twice": `{"version":1,"entries":[` + line + "," + line + `]}`, "more after it": with("", "") + "{}", "a bracket after it": with("", "") + "]",
		"no address": with(`"ip":"192.0.2.1",`, ""), "empty address": with("192.0.2.1", ""), "name": with("192.0.2.1", "localhost"), "network": with("192.0.2.1", "192.0.2.0/24"),
		"mapped": with("192.0.2.1", "::ffff:192.0.2.1"), "zone": with("192.0.2.1", "fe80::1%eth0"), "leading zero": with("192.0.2.1", "192.0.2.01"), "number": with(`"192.0.2.1"`, "7"),
		"no start": with(`,"blocked_at":"2026-03-01T12:00:00Z"`, ""), "bad start": with("2026-03-01T12", "2026-13-01T12"),
		"ends first": with(`Z"}`, `Z","expires_at":"2026-03-01T12:00:00Z"}`), "flipped bit": with(`"reason"`, `"reaso`+"\x2e"+`"`),
	} {
		if got, err := decode([]byte(text)); err == nil || errors.Is(err, errNewer) {
			t.Errorf("%s: read as %+v, %v", name, got, err)
		}
	}
}

func TestNewerFileIsNoDamage(t *testing.T) {
	for _, text := range []string{`{"version":2,"entries":[]}`, `{"version":2,"blocks":{"a":[1]}}`} {
		if _, err := decode([]byte(text)); !errors.Is(err, errNewer) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestListIsBounded(t *testing.T) {
	raw, err := encode(many(maxEntries + 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := decode(raw); err == nil {
		t.Error("a list without bounds was read")
	}
}

// many makes n entries of usual length.
func many(n int) []entry {
	entries, a := make([]entry, 0, n), netip.MustParseAddr("2001:db8::1")
	for range n {
		entries = append(entries, entry{Address: a, Reason: "a hundred failed logins within a minute", By: "bob", At: began, Ends: began.Add(7 * day)})
		a = a.Next()
	}
	return entries
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{golden, "", "{}", `{"version":1,"entries":[]}`, `{"version":2}`, golden[:100], `{"version":1,"entries":[{"ip":"::1"}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		entries, err := decode(raw)
		if err != nil {
			return
		}
		written, err := encode(entries)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decode(written)
		if err != nil || !slices.Equal(again, entries) {
			t.Errorf("%q became %q, which reads as %+v, %v", raw, written, again, err)
		}
		if rewritten, err := encode(again); err != nil || !bytes.Equal(written, rewritten) {
			t.Errorf("%q is written anew as %q, %v", written, rewritten, err)
		}
	})
}

func BenchmarkTwentyThousandEntries(b *testing.B) {
	entries := many(20_000)
	raw, err := encode(entries)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			if _, err := encode(entries); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if _, err := decode(raw); err != nil {
				b.Fatal(err)
			}
		}
	})
}
