// SPDX-License-Identifier: Apache-2.0

package sanitize

import (
	"strings"
	"testing"
)

func TestReasonHidesSecrets(t *testing.T) {
	for _, text := range []string{
		"Authorization: Bearer hunter2abc", "tested with --password hunter2", "mysql -phunter2", "sent bearer hunter2abc", "sent basic YTpodW50ZXIyYWJj", `sent "bearer hunter2abc"`,
		"curl https://u:hunter2@x.example/", "token=hunter2", "the password hunter2 leaked", "the PASSWORD 'hunter'", "leaked AKIAIOSFODNN7EXAMPLE",
		"leaked ghp_hunter2hunter2hunter2", "identified by hunter", "Cookie: sid=hunter2", "curl -u bob:hunter2 x", "sshpass -p hunter2 ssh",
	} {
		got := Reason(text, 200)
		if strings.Contains(got, "hunter") || strings.Contains(got, "AKIA") || !strings.Contains(got, Redacted) {
			t.Errorf("%q is kept as %q", text, got)
		}
		if again := Reason(got, 200); again != got {
			t.Errorf("%q becomes %q", got, again)
		}
	}
}

func TestReasonKeepsWhatPeopleWrite(t *testing.T) {
	for _, text := range []string{
		"", "brute force", "failed password for root", "password guessing over ssh", "blocked by bob - again", "scans ports 22, 80 and 443",
		"200 failed passwords within 5 minutes", "runaway ffmpeg (90 % cpu)", "ordered by the owner",
	} {
		if got := Reason(text, 200); got != text {
			t.Errorf("%q is kept as %q", text, got)
		}
	}
	if got := Reason("a\x1b[2Jb", 200); got != "a\ufffd[2Jb" {
		t.Errorf("%q", got)
	}
	if got := Reason("the token=hunter2 "+strings.Repeat("x ", 300), 20); len([]rune(got)) != 20 {
		t.Errorf("%q", got)
	}
}

// What the cheap test lets through, Command leaves unchanged too, except after
// words that people also use without a secret.
func FuzzQuickLookMissesNoSecret(f *testing.F) {
	for _, seed := range []string{"brute force", "-p x", "a bearer b", "!basic 0zp0", "vault login x", "<pass>x</pass>", "$6$a$b1b1b1b1", "passwd[a1b2c3]", "echo x | su", "basic YTpi", "x://u:p@h", "AKIAIOSFODNN7EXAMPLE", "identified by x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > maxExamined || mayHoldSecret(text) {
			return
		}
		for _, word := range plainWords {
			if strings.Contains(strings.ToLower(text), word) {
				return
			}
		}
		if got := Command([]string{text}, 300); strings.Contains(got, Redacted) && !strings.Contains(text, Redacted) {
			t.Errorf("%q has a secret: %q", text, got)
		}
	})
}
