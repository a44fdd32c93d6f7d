// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"sentinel/internal/answer"
	"sentinel/internal/testenv"
)

const mallory = 4711

// Root speaks to nobody in a user's place but to that user, and follows no link from there.
func TestRootIsNotLedToOtherSockets(t *testing.T) {
	testenv.Need(t, os.Getuid() == 0, "root, who can become a user")
	asked := listening(t, func(l net.Listener) {
		_ = http.Serve(l, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("root spoke to a socket of root's") }))
	})
	given := filepath.Join(filepath.Dir(asked.Path), "given")
	dir := shortDir(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(
		os.Chmod(dir, 0o755), os.Chown(dir, mallory, mallory), os.Symlink(asked.Path, at("link")), os.Symlink(filepath.Dir(asked.Path), at("elsewhere")),
		os.Link(asked.Path, at("root")),
	); err != nil {
		t.Fatal(err)
	}
	own := serveAs(t, mallory, at("own"), docker)
	for name, c := range map[string]struct {
		path  string
		owner int
		want  error
	}{
		"the user's":           {own, mallory, nil},
		"another user's":       {own, mallory + 1, errNotTrusted},
		"a user's, for root's": {own, 0, errNotTrusted},
		"a link":               {at("link"), mallory, errLink},
		"a directory":          {at("elsewhere/s"), mallory, errLink},
		"root's":               {at("root"), mallory, errNotTrusted},
		"none":                 {at("none"), mallory, nil},
	} {
		engines, _, err := Containers(t.Context(), Socket{Path: c.path, Owner: c.owner}, &answer.Gaps{})
		if !errors.Is(err, c.want) || (len(engines) == 1) != (name == "the user's") {
			t.Errorf("%s: %v, %v", name, engines, err)
		}
	}
	if err := errors.Join(os.Rename(asked.Path, given), os.Chown(given, mallory, mallory)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Containers(t.Context(), Socket{Path: given, Owner: mallory}, &answer.Gaps{}); !errors.Is(err, errNotTrusted) {
		t.Errorf("a socket of the user's at which root listens: %v", err)
	}
}

// serveAs answers at a path as a user.
func serveAs(t *testing.T, uid int, path string, answers map[string]string) string {
	t.Helper()
	l := testenv.ListenAs(t, uid, path)
	go func() {
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, answers[r.URL.RequestURI()]) }))
	}()
	return path
}
