// SPDX-License-Identifier: Apache-2.0

package sysexec

import (
	"bytes"
	"io"
	"strings"
	"syscall"
	"testing"
)

func child(t *testing.T, text string) *Child {
	t.Helper()
	c, err := StartChild(shell, []string{"-c", text}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Signal(syscall.SIGKILL)
		c.Stdin.Close()
		<-c.Ended()
	})
	return c
}

func TestAChildIsConnectedAndHasTheUsersEnvironment(t *testing.T) {
	t.Setenv("CHILD_TEST", "x y")
	c := child(t, `read -r line; echo "$line $CHILD_TEST"; exit 3`)
	if _, err := io.WriteString(c.Stdin, "hello\n"); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(c.Stdout)
	<-c.Ended()
	if string(out) != "hello x y\n" || err != nil || c.Exit() != 3 {
		t.Errorf("%q, %v, status %d", out, err, c.Exit())
	}
}

// What a child wrote before it ended is read whole, however late, and what it has left behind
// does not hold up the reader.
func TestOutputOfAChildEndsWithIt(t *testing.T) {
	c := child(t, `head -c 60000 /dev/zero; sleep 600 & exit 0`)
	<-c.Ended()
	out, err := io.ReadAll(c.Stdout)
	if len(out) != 60000 || len(bytes.Trim(out, "\x00")) != 0 || err != nil {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	if !c.Left() {
		t.Error("nothing is left in the group")
	}
}

func TestAChildThatCannotBeStartedIsAnError(t *testing.T) {
	for _, name := range []string{"no-such-program", "/no/such/program"} {
		if _, err := StartChild(name, nil, nil, nil); !NotFound(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := StartChild(t.TempDir(), nil, nil, nil); err == nil || NotFound(err) || !strings.Contains(err.Error(), "permission") {
		t.Errorf("a folder: %v", err)
	}
}
