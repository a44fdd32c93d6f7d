// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The form of records is what a later version has to read.
func TestTheFormOfARecordStays(t *testing.T) {
	s := Sample{
		Time: 1800000000, Boot: "ab699d80.24", Up: 3600.5, Span: 60.01, Figures: map[string]float64{"cpu": 12.5, "load": 0.31}, Fullest: "/srv",
		Busiest: []Process{{812, "backup.sh", "backup", 96.1}}, Largest: []Process{{9, "mysqld", "mysql", 2048}},
		Events: []Event{{Kind: OOMKill, Text: "mysqld of mysql.service", Ago: 12}}, More: 2,
	}
	const line = `c28261d8 263 {"t":1800000000,"b":"ab699d80.24","u":3600.5,"s":60.01,"f":{"cpu":12.5,"load":0.31},"d":"/srv","c":[{"p":812,"n":"backup.sh","u":"backup","v":96.1}],` +
		`"m":[{"p":9,"n":"mysqld","u":"mysql","v":2048}],"e":[{"k":"oom_kill","x":"mysqld of mysql.service","a":12}],"o":2}` + "\n"
	got, err := encode(s)
	if err != nil || string(got) != line {
		t.Errorf("%v\n got %swant %s", err, got, line)
	}
	back, err := decode([]byte(strings.TrimSuffix(line, "\n")))
	if diff := cmp.Diff(s, back); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

// decode reads a line whole.
func decode(line []byte) (Sample, error) {
	r, err := parse(line)
	if err != nil {
		return Sample{}, err
	}
	s, err := r.Sample()
	if err == nil && (s.Time != r.Time || s.Boot != r.Boot || s.Up != r.Up || s.Right != r.Right) {
		return s, fmt.Errorf("the head of %q is %d, %q, %v", line, r.Time, r.Boot, r.Up)
	}
	return s, err
}

// The head is found in all that is written, and found right.
func TestTheHeadOfARecord(t *testing.T) {
	for _, boot := range []string{"", "b.1", `quo"te`, `back\slash`, "\u00e9\U0001F600", "tab\t", `","u":7,`} {
		for _, up := range []float64{0, 0.01, 59.5, 1e7 + 0.25, 1e21} {
			s := sampleAt(1)
			s.Boot, s.Up, s.Right = boot, up, up > 1
			line, err := encode(s)
			if err != nil {
				t.Fatal(err)
			}
			if back, err := decode(line[:len(line)-1]); err != nil || !cmp.Equal(back, s) {
				t.Errorf("%+v reads as %+v, %v", s, back, err)
			}
		}
	}
}

func TestWhatIsNoRecordIsRefused(t *testing.T) {
	good, err := encode(sampleAt(1))
	if err != nil {
		t.Fatal(err)
	}
	line := strings.TrimSuffix(string(good), "\n")
	for _, bad := range []string{
		"", " ", "x", line[1:], line + " ", line[:len(line)-1], "0" + line, strings.ToUpper(line[:8]) + "x" + line[8:], strings.Replace(line, "b.1", "b.2", 1),
		strings.Replace(line, " ", "  ", 1), "00000000 0 ", "00000000 -1 x", strings.Repeat("0", 4000),
	} {
		if s, err := decode([]byte(bad)); !errors.Is(err, errRecord) {
			t.Errorf("%q: %+v, %v", bad, s, err)
		}
	}
}

// Whoever names processes and units must not push out what was recorded before.
func TestNoNameMakesARecordLarge(t *testing.T) {
	wide := strings.Repeat("\U0001F600", maxText)
	s := sampleAt(1)
	for n := range 1000 {
		s.Events = append(s.Events, Event{Kind: UnitFailed, Text: fmt.Sprint(n) + wide})
		s.Busiest = append(s.Busiest, Process{n, wide, wide, 1})
		s.Largest = append(s.Largest, Process{n, wide, wide, 1})
	}
	line, err := encode(s)
	if err != nil || len(line) > maxRecord {
		t.Fatalf("%d bytes, %v", len(line), err)
	}
	back, err := decode(line[:len(line)-1])
	if err != nil || back.Time != s.Time || back.Figures["load"] != 0.25 {
		t.Errorf("%+v, %v", back, err)
	}
	s = sampleAt(1)
	for n := range 20 {
		s.Events = append(s.Events, Event{Kind: UnitFailed, Text: fmt.Sprintf("unit-%d.service", n)})
	}
	if line, err = encode(s); err != nil {
		t.Fatal(err)
	}
	if back, err = decode(line[:len(line)-1]); err != nil || len(back.Events) != maxEvents || back.More != 8 || back.Events[0].Text != "unit-0.service" {
		t.Errorf("%+v, %v", back, err)
	}
}

// With the names left out, a record still says what its times are worth.
func TestTheSmallestRecordKeepsWhatItsTimesAreWorth(t *testing.T) {
	s := sampleAt(1)
	s.Right, s.Span, s.Fullest, s.Busiest = true, 60, "/"+strings.Repeat("x", maxRecord), nil
	line, err := encode(s)
	if err != nil {
		t.Fatal(err)
	}
	back, err := decode(line[:len(line)-1])
	want := Sample{Time: s.Time, Boot: s.Boot, Up: s.Up, Right: true, Span: 60, Figures: s.Figures}
	if diff := cmp.Diff(want, back); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func FuzzRecord(f *testing.F) {
	for n := range 3 {
		line, err := encode(sampleAt(n))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line[:len(line)-1])
	}
	f.Add([]byte("00000000 2 {}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := decode(b)
		if err != nil {
			return
		}
		line, err := encode(s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decode(line[:len(line)-1])
		if err != nil || again.Time != s.Time || again.Boot != s.Boot && len(line) < maxRecord {
			t.Errorf("%q reads as %+v, which reads as %+v, %v", b, s, again, err)
		}
	})
}
