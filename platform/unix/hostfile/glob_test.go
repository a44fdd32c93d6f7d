// SPDX-License-Identifier: Apache-2.0

package hostfile

import (
	"path"
	"strings"
	"testing"

	"sentinel/internal/testenv"
)

// The answers are those of fnmatch(3) of glibc, with FNM_PERIOD for Glob.
func TestPatternsAreThoseOfC(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		glob          bool
	}{
		{"*.conf", "a.conf", true}, {"*.conf", "a.con", false}, {"*.conf", ".conf", false}, {".*", ".a", true}, {`\.*`, ".a", true}, {"[.]a", ".a", false}, {"?a", ".a", false}, {"", "", true}, {"", "a", false}, {"*", "", true},
		{"[!0]*.conf", "a.conf", true}, {"[!0]*.conf", "!.conf", true}, {"[!0]*.conf", "0.conf", false}, {"[^0]x", "ax", true}, {"[a!]", "!", true}, {"[!]a]", "b", true}, {"[!]a]", "]", false}, {"[]a]", "]", true},
		{"[[:alpha:]]*", "evil", true}, {"[[:digit:][:upper:]]", "7", true}, {"[![:digit:]]", "7", false}, {"[[:nothing:]]", "n", false}, {"[[:x]y", "[y", true},
		{"[a-c]", "b", true}, {"[c-a]", "b", false}, {"[a-]", "-", true}, {"[-a]", "-", true}, {`[\]]`, "]", true}, {"[[.-.]]", "-", true}, {"[[=a=]]", "a", true}, {"[", "[", true}, {"[a", "[a", true}, {"a[", "a[", true},
		{`\*`, "*", true}, {`\*`, "a", false}, {`a\?`, "a?", true}, {"a*b*c", "axbxxc", true}, {"a*b*c", "axbxx", false}, {"**a", "a", true}, {"?", "", false}, {"*?", "a", true},
	} {
		if got := Glob(c.pattern, c.name); got != c.glob {
			t.Errorf("%q, %q: %v", c.pattern, c.name, got)
		}
	}
	if !Fnmatch("*", ".a") || Fnmatch("[!.]*", ".a") {
		t.Error("a hidden name is one for fnmatch")
	}
}

// A user may write the pattern and the names.
func TestPatternsTakeBoundedTime(t *testing.T) {
	testenv.HangGuard(t)
	if Glob(strings.Repeat("a*", 1000)+"b", strings.Repeat("a", 5000)) || Glob(strings.Repeat("[", 5000), strings.Repeat("[", 4999)) {
		t.Error("it fits")
	}
}

// Where a pattern has none of what the two differ in, it is the same as that of path.Match.
func FuzzFnmatch(f *testing.F) {
	f.Add("a*[b-d]?", "axcd")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		got := Fnmatch(pattern, name)
		if strings.ContainsAny(pattern, `[\`) || strings.ContainsFunc(pattern+name, func(r rune) bool { return r >= 0x80 || r == '/' }) {
			return
		}
		if want, err := path.Match(pattern, name); err == nil && got != want {
			t.Errorf("%q, %q: %v", pattern, name, got)
		}
	})
}
