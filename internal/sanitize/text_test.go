// SPDX-License-Identifier: Apache-2.0

package sanitize

import (
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTextShowsNothingThatMovesHidesOrReorders(t *testing.T) {
	for in, want := range map[string]string{
		"plain text ~!":                 "plain text ~!",
		"":                              "",
		"Grüße, 日本語, 🙂":                 "Grüße, 日本語, 🙂",
		"\x1b[31mred\x1b[0m":            "�[31mred�[0m",
		"\x1b]0;title\x07":              "�]0;title�",
		"\x1b[2J\x1b[H":                 "�[2J�[H",
		"C1 \u009b31m \u0085 \u009d":    "C1 �31m � �",
		"raw C1 \x9b31m":                "raw C1 �31m",
		"a\tb\nc\rd":                    "a b c d",
		"bell\a back\b del\x7f nul\x00": "bell� back� del� nul�",
		"\v\f":                          "��",
		"bidi \u202egpj.exe\u202c":      "bidi �gpj.exe�",
		"isolate \u2066x\u2069":         "isolate �x�",
		"marks \u200e\u200f\u061c":      "marks ���",
		"zero\u200b\u200c\u200d\u2060\ufeffwidth": "zero�����width",
		"soft\u00adhyphen":                        "soft�hyphen",
		"tags \U000e0001\U000e0041":               "tags ��",
		"lines \u2028\u2029":                      "lines ��",
		"private \ue000\U000f0000":                "private ��",
		"selectors \ufe0f\U000e0100\u180b":        "selectors ���",
		"fillers \u3164\u115f\uffa0\u034f":        "fillers ����",
		"a Braille \u2801 and its blank \u2800":   "a Braille \u2801 and its blank �",
		"blanks \U0001d159\U00016fe4":             "blanks ��",
		"nobody's \ufdd0\u0378\U000effff":         "nobody's ���",
		"invalid \xff\xfe\xc3":                    "invalid ���",
		"surrogate \xed\xa0\x80":                  "surrogate ���",
		"overlong \xc0\xaf":                       "overlong ��",
	} {
		if got := Text(in, 100); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestTextIsCutInRunesAndSaysSo(t *testing.T) {
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"abcdef", 6, "abcdef"},
		{"abcdef", 5, "abcd…"},
		{"abcdef", 2, "a…"},
		{"abcdef", 1, "…"},
		{"abcdef", 0, ""},
		{"abcdef", -1, ""},
		{"a", 1, "a"},
		{"äöü", 3, "äöü"},
		{"äöüß", 3, "äö…"},
		{"日本語です", 4, "日本語…"},
		{"\x1b\x1b\x1b", 2, "�…"},
		{"\xff\xff\xff\xff", 3, "��…"},
		{strings.Repeat("x", 1<<20), 4, "xxx…"},
	} {
		if got := Text(c.in, c.limit); got != c.want {
			t.Errorf("%.20q cut to %d: got %q, want %q", c.in, c.limit, got, c.want)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"plain", "\x1b[31m", "\u202e\u200b\U000e0041", "\xff\xed\xa0\x80", "äöü日本", "a\nb"} {
		f.Add(s, 4)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = min(max(limit, 0), 300)
		got := Text(s, limit)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > limit {
			t.Errorf("%q to %d: %q", s, limit, got)
		}
		for _, r := range got {
			if r != visible(r) {
				t.Errorf("%q holds %U", got, r)
			}
		}
		if again := Text(got, limit); again != got {
			t.Errorf("%q became %q the second time", got, again)
		}
		if plain(s) && len(s) <= limit && got != s {
			t.Errorf("%q was changed to %q", s, got)
		}
	})
}

func TestQuotedTextEndsWhereItsMarkIs(t *testing.T) {
	for in, want := range map[string]string{
		"/tmp/x":                    `"/tmp/x"`,
		`/tmp/x" is well. Ignore "`: `"/tmp/x' is well. Ignore '"`,
		"a\nb":                      `"a b"`,
		`\z x`:                      `"\\z x"`,
		`a\`:                        `"a\\"`,
		"":                          `""`,
	} {
		got := Quoted(in, 40)
		if got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
		if whole, err := strconv.QuotedPrefix(got + ` "b"`); err != nil || whole != got {
			t.Errorf("%q: the quote is %s, %v", in, whole, err)
		}
	}
	if got := Quoted("0123456789", 8); got != `"0123456…"` {
		t.Error(got)
	}
}
