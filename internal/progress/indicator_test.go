// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestIndicatorIsShownFromTwoSecondsAndErased(t *testing.T) {
	for name, test := range map[string]struct {
		takes time.Duration
		want  string
	}{
		"quick":    {1900 * time.Millisecond, ""},
		"long":     {3500 * time.Millisecond, "\rPort scan … 2 s\x1b[K\rPort scan … 3 s, 42 %\x1b[K\r\x1b[K"},
		"no wait":  {0, ""},
		"just now": {2100 * time.Millisecond, "\rPort scan … 2 s\x1b[K\r\x1b[K"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var shown strings.Builder
				i := NewIndicator(&shown, "Port scan")
				stop := i.Start()
				go func() {
					<-time.After(2500 * time.Millisecond)
					i.Set(42, "")
				}()
				<-time.After(test.takes)
				stop()
				stop()
				if shown.String() != test.want {
					t.Errorf("%q, want %q", shown.String(), test.want)
				}
				<-time.After(3 * time.Second)
			})
		})
	}
}

func TestNoIndicatorShowsNothing(t *testing.T) {
	var i *Indicator
	i.Set(5, "")
	i.Start()()
}

func TestAnIndicatorSaysWhatIsDoneOnOneLine(t *testing.T) {
	i := NewIndicator(&strings.Builder{}, "Security audit")
	i.Set(29, "checking 12 of 41: "+strings.Repeat("x", 200))
	line := i.line(3 * time.Second)
	if !strings.HasPrefix(line, "Security audit … 3 s, 29 %: checking 12 of 41: x") || len([]rune(line)) > widest {
		t.Errorf("%q", line)
	}
	for _, words := range []string{strings.Repeat("漢", 60), strings.Repeat("💣", 60), "x" + strings.Repeat("漢", 60)} {
		i.Set(29, words)
		line := []rune(i.line(3 * time.Second))
		wide := len(line) - len([]rune("Security audit … 3 s, 29 %: ")) - strings.Count(words, "x")
		if columns := len(line) + wide; columns > widest || columns < widest-1 {
			t.Errorf("%d columns: %q", columns, string(line))
		}
	}
}
