// SPDX-License-Identifier: Apache-2.0

//go:build unix

package caller

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// holder makes the test binary a process that takes a place of user 1000, tells its number, and ends with
// stdin.
const holder = "SENTINEL_TEST_PLACE"

func TestMain(m *testing.M) {
	path := os.Getenv(holder)
	if path == "" {
		os.Exit(m.Run())
	}
	number, err := Place(path, 1000, 2)
	if err != nil {
		number = -1
	}
	os.Stdout.WriteString(strconv.Itoa(number) + "\n")
	io.Copy(io.Discard, os.Stdin)
}

func TestAPlaceIsKeptUntilItsProcessEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "places")
	take := func() (number string, end func()) {
		t.Helper()
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), holder+"="+path)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		said := bufio.NewReader(out)
		number, err = said.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		end = func() {
			cmd.Process.Kill()
			in.Close()
			cmd.Wait()
		}
		t.Cleanup(end)
		return number, end
	}
	first, end := take()
	second, _ := take()
	if third, _ := take(); first != "0\n" || second != "1\n" || third != "-1\n" {
		t.Errorf("%q, %q, %q", first, second, third)
	}
	if number, err := Place(path, 1001, 2); number != 0 || err != nil {
		t.Errorf("another user: %d, %v", number, err)
	}
	end()
	if again, _ := take(); again != "0\n" {
		t.Errorf("after the end of the first: %q", again)
	}
}

// A link, which only root can have put there, is not followed, and nothing is waited for.
func TestWhereThereAreNoPlacesThatIsNotFull(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, dir, filepath.Join(dir, "missing", "places")} {
		if _, err := Place(path, 1000, 2); err == nil || errors.Is(err, ErrFull) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
