// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"io"
	"strings"
	"testing"

	"sentinel/internal/host/local"
	"sentinel/internal/ops"
	"sentinel/internal/testenv"
)

// What takes long must not take the machine away from others, and who is not root has nothing to ask
// for.
func TestOnlyWhatIsShortIsPreferred(t *testing.T) {
	for _, root := range []bool{true, false} {
		for _, op := range ops.Actions() {
			var asked []bool
			p := nowhere()
			p.Root = root
			p.Prefer = func(root bool) { asked = append(asked, root) }
			p.Run(t.Context(), []string{"--request", op.Name}, strings.NewReader("{}"), io.Discard, io.Discard)
			if len(asked) > 1 || (len(asked) == 1) != op.Preferred || len(asked) == 1 && asked[0] != root {
				t.Errorf("%s, root %v: preferred as root %v", op.Name, root, asked)
			}
		}
	}
}

// What waits for its request needs no better place, and of many runs of one user only some get it.
func TestFewRunsOfAUserArePreferred(t *testing.T) {
	for place, want := range map[int]bool{0: true, 3: true, 4: false, 31: false} {
		preferred, flushed := false, 0
		p := nowhere()
		p.Root = true
		p.Getenv = func(name string) string { return map[string]string{"SUDO_UID": "1000", "SUDO_USER": "eve"}[name] }
		p.Admit = func(uid int) (int, func() error, error) {
			if uid != 1000 {
				t.Errorf("a place of user %d", uid)
			}
			return place, func() error { flushed++; return nil }, nil
		}
		p.Prefer = func(bool) { preferred = true }
		read := false
		stdin := readerFunc(func(b []byte) (int, error) {
			read = true
			if preferred {
				t.Errorf("place %d: preferred while it waits", place)
			}
			return 0, io.EOF
		})
		answered := false
		stdout := writerFunc(func(b []byte) (int, error) {
			answered = true
			if flushed > 0 {
				t.Errorf("place %d: flushed before the answer is out", place)
			}
			return len(b), nil
		})
		p.Run(t.Context(), []string{"--request", "get_system_health"}, stdin, stdout, io.Discard)
		if preferred != want || !read || !answered || flushed != 1 {
			t.Errorf("place %d: preferred %v, read %v, answered %v, flushed %d times", place, preferred, read, answered, flushed)
		}
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestWhoIsNotAdmittedIsRefused(t *testing.T) {
	for _, c := range []struct {
		root bool
		uid  string
		err  error
		says string
		want int
	}{
		{true, "1000", local.ErrFull, `"RATE_LIMITED"`, 4},
		{true, "1000", local.ErrNotRelayed, `"UNAVAILABLE"`, 1},
		{true, "1000", io.ErrUnexpectedEOF, "goes through could hold up what this run starts: unexpected EOF", 1},
		{true, "0", local.ErrFull, "does not run on", 1}, // it comes as far as that
		{true, "", local.ErrFull, "does not run on", 1},
		{false, "1000", local.ErrFull, "does not run on", 1},
	} {
		p := nowhere()
		p.Root = c.root
		p.Getenv = func(name string) string { return map[string]string{"SUDO_UID": c.uid}[name] }
		p.Admit = func(int) (int, func() error, error) { return 0, func() error { return nil }, c.err }
		var out strings.Builder
		status := p.Run(t.Context(), []string{"--request", "get_system_health"}, strings.NewReader("{}"), &out, io.Discard)
		if status != c.want || !strings.Contains(out.String(), c.says) {
			t.Errorf("%+v: %d %s", c, status, out.String())
		}
	}
}

// A file of the caller's may be full, or on a file system that does not answer.
func TestAnAnswerThatIsNotHandedOnIsSaid(t *testing.T) {
	testenv.HangGuard(t)
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx   context.Context
		flush func() error
		args  []string
		want  int
		says  string
	}{
		"full":                 {t.Context(), func() error { return io.ErrShortWrite }, []string{"--request", "get_system_health"}, 1, "could not be written: short write"},
		"full, for monitoring": {t.Context(), func() error { return io.ErrShortWrite }, []string{"--check"}, 3, "could not be written: short write"},
		"never answers":        {interrupted, func() error { select {} }, []string{"--request", "get_system_health"}, 130, ""},
	} {
		p := nowhere()
		p.Root = true
		p.Getenv = func(name string) string { return map[string]string{"SUDO_UID": "1000", "SUDO_USER": "eve"}[name] }
		p.Admit = func(int) (int, func() error, error) { return 0, c.flush, nil }
		var errs strings.Builder
		if status := p.Run(c.ctx, c.args, strings.NewReader("{}"), io.Discard, &errs); status != c.want || !strings.Contains(errs.String(), c.says) {
			t.Errorf("%s: %d %q", name, status, errs.String())
		}
	}
}
