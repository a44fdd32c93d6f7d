// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sessions

import (
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"sentinel/internal/sessions"
	"sentinel/internal/testenv"
)

// Servers of terminals go on when the session ends that they were started in, and are shown in others.
func TestRealServersOfTerminalsAreShown(t *testing.T) {
	for program, name := range map[string]string{"sshd": "openssh-server", "ssh": "openssh-client", "ip": "iproute2", "setpriv": "util-linux", "tmux": "tmux", "screen": "screen"} {
		testenv.Program(t, program, name)
	}
	if !testenv.Isolated(t) {
		return
	}
	s := newSite(t)
	t.Run("tmux", func(t *testing.T) {
		socket := filepath.Join(s.private(t, "tmux"), "socket")
		tmux := []string{"tmux", "-f", "/dev/null", "-S", socket}
		out := s.asAnn(t, append(tmux, "new-session", "-d", "-P", "-F", "#{pid}", "exec sleep 600")...)
		s.shown(t, out, strings.Join(tmux, " ")+" attach", append(tmux, "detach-client", "-s", "0")...)
	})
	t.Run("screen", func(t *testing.T) {
		dir := s.private(t, "screen")
		screen := []string{"env", "SCREENDIR=" + dir, "screen"}
		s.asAnn(t, append(screen, "-c", "/dev/null", "-dmS", "x", "sleep", "600")...)
		var files []os.DirEntry
		testenv.WaitFor(t, "its socket", func() bool { files, _ = os.ReadDir(dir); return len(files) == 1 })
		pid, _, _ := strings.Cut(files[0].Name(), ".")
		s.shown(t, pid, strings.Join(screen, " ")+" -r x", append(screen, "-d", "x")...)
	})
}

// private makes a directory that is ann's alone.
func (s *site) private(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(home, name)
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, annUID, annUID)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// asAnn runs a program that leaves another running.
func (s *site) asAnn(t *testing.T, words ...string) string {
	t.Helper()
	out, err := tryAsAnn(words...)
	if err != nil {
		t.Fatalf("%v: %v: %s", words, err, out)
	}
	return strings.TrimSpace(string(out))
}

func tryAsAnn(words ...string) ([]byte, error) {
	words = append([]string{"setsid", "setpriv", "--reuid", strconv.Itoa(annUID), "--regid", strconv.Itoa(annUID), "--clear-groups"}, words...)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = append(os.Environ(), "TERM=xterm", "SHELL=/bin/sh")
	return cmd.CombinedOutput()
}

// shown has somebody log in and attach to a server, and detaches them again.
func (s *site) shown(t *testing.T, server, attach string, detach ...string) {
	pid, err := strconv.Atoi(server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })
	claim := func() sessions.Claim { return model(t, os.Getpid()).Processes[pid] }
	if c := claim(); c.Sessions != nil {
		t.Errorf("where nobody is attached: %v", c)
	}
	words := s.sshWords(ann, here, "2201", "TERM=xterm exec "+attach)
	s.start("peer", nil, append(words[:1:1], append([]string{"-tt"}, words[1:]...)...)...)
	testenv.WaitFor(t, "somebody to be attached", func() bool { return claim().Sessions != nil })
	c := claim()
	if len(c.Shown) != 1 || len(c.Sessions) != 1 || c.Sessions[0].User != "ann" || c.Sessions[0].From[0] != netip.MustParseAddr(ann) {
		t.Errorf("%+v, %v", c, c)
	}
	// screen opens the terminal first, and counts as attached a moment later.
	testenv.WaitFor(t, "the server to detach them", func() bool {
		_, err := tryAsAnn(detach...)
		return err == nil
	})
	testenv.WaitFor(t, "nobody to be attached", func() bool { return claim().Sessions == nil })
}

// A process may have one terminal open any number of times, and many.
func TestTerminalsOfAProcessAreBounded(t *testing.T) {
	var list []string
	opened := func() bool { return true }
	for n := range 3 * maxTerminals {
		list = addTerminal(addTerminal(list, "pts/0", opened), "pts/"+strconv.Itoa(n), opened)
	}
	if len(list) != maxTerminals || list[1] != "pts/1" || list[maxTerminals-1] != "pts/"+strconv.Itoa(maxTerminals-1) {
		t.Errorf("%v", list)
	}
}
