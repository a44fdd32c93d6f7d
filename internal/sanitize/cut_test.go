// SPDX-License-Identifier: Apache-2.0

package sanitize

import (
	"strings"
	"testing"
)

func TestCut(t *testing.T) {
	for text, want := range map[string]string{
		"short":                          "short",
		"exactly sixteen.":               "exactly sixteen.",
		"a word that is cut off":         "a word that is c…",
		"to amqp://svc:hunter2@host":     "to amqp://…",
		"amqp://svc:p/ss-word":           "amqp://…",
		"as svc:hunter2-long@tcp(db)":    "as svc:…",
		"token=abc secret=12345":         "token=abc secret…",
		"/usr/share/java/a.jar":          "/usr/share/java/…",
		"--classpath=/usr/share/java":    "--classpath=…",
		"at 10:20:30 lines":              "at 10:20:30 line…",
		"a blank behind it, then more":   "a blank behind i…",
		"a blank at this, and then":      "a blank at this,…",
		"ein Satz mit öäü und noch mehr": "ein Satz mit ö…",
	} {
		if got := Cut(text, 16); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Wherever a text is cut, nothing of the secret in it is shown.
func TestNoCutShowsHalfASecret(t *testing.T) {
	const secret = "Geheim-Passwort-99"
	for _, text := range []string{
		`upstream: "amqp://svc:` + secret + `@backend/vhost", client: 192.0.2.7`,
		"connect failed postgres://app:" + secret + "@db/x: no route",
		"dsn app:" + secret + "@tcp(db:3306)/app failed",
		"push to backup:" + secret + "@nas.example failed",
		"<config><password>" + secret + "</password></config>",
		"--db-password=" + secret + " --verbose",
		"jdbc:oracle:thin:app/" + secret + "@db:1521:x",
	} {
		for limit := range len(text) {
			cut := Cut(text, limit)
			for _, shown := range []string{Line(cut, 400), Command([]string{"perl", cut}, 400)} {
				if strings.Contains(shown, secret[:4]) {
					t.Errorf("cut at %d: %q", limit, shown)
				}
			}
		}
	}
}
