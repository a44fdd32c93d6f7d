// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/testenv"
)

// mailForm is what an address that is a program looks like. It says the same of short lines, and takes
// the square of the time for long ones.
var mailForm = regexp.MustCompile(`"\|((?:[^"\\]|\\.)*)"|\|"((?:[^"\\]|\\.)*)"|\|((?:[^",]|"(?:[^"\\]|\\.)*")*)`)

func TestEachProgramOfALineOfMailIsFound(t *testing.T) {
	lines := []string{""}
	for range 7 {
		for _, line := range lines {
			var want []string
			for _, m := range mailForm.FindAllStringSubmatch(line, -1) {
				want = append(want, mailQuotes.Replace(m[1]+m[2])+m[3])
			}
			if got := mailCommands(line); !slices.Equal(got, want) {
				t.Fatalf("%q: %q, not %q", line, got, want)
			}
		}
		var longer []string
		for _, line := range lines {
			for _, c := range []string{`"`, `|`, `\`, `,`, `a`} {
				longer = append(longer, line+c)
			}
		}
		lines = longer
	}
}

// A quote that is never closed is looked for once.
func TestMailInQuotesThatAreNeverClosed(t *testing.T) {
	testenv.HangGuard(t)
	for _, text := range []string{`"|\`, `|"\`, `"|`, `|"a\\`} {
		line := "|/opt/first, " + strings.Repeat(text, maxFile/len(text))
		var got []string
		for _, one := range mailPrograms(line, readerOf(line)) {
			got = append(got, one.programs...)
		}
		if diff := cmp.Diff([]string{"/opt/first"}, got); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}
