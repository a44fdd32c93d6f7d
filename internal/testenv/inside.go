// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"sentinel/internal/sysexec"
)

// insideEnv is set in the process that Inside starts.
const insideEnv = "SENTINEL_TEST_INSIDE"

// insideLimit ends that process where it hangs. The longest tests take half a minute on an idle
// machine.
const insideLimit = 8 * time.Minute

// Nobody is the unprivileged user and group.
const Nobody = 65534

// Inside reruns the calling test in a program such as "unshare --net", and reports
// whether this is the second run. In the first run, which gets the result of the second, it
// returns false and the test must return.
func Inside(t *testing.T, behind ...string) bool {
	t.Helper()
	if os.Getenv(insideEnv) == t.Name() {
		return true
	}
	directory, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--unset=TMPDIR", "--chdir=" + directory, insideEnv + "=" + t.Name(), namespacesEnv + "=" + outerNamespaces(t), "SENTINEL_REQUIRE_ALL=" + os.Getenv("SENTINEL_REQUIRE_ALL")}
	args = append(append(args, behind...), os.Args[0], "-test.run="+testPattern(t.Name()), "-test.v", "-test.count=1")
	r, err := sysexec.Host{}.Run(t.Context(), sysexec.Command{Path: "/usr/bin/env", Args: args, Timeout: insideLimit})
	adoptResult(t, r, err)
	return false
}

// testPattern is a -test.run pattern for exactly one test.
func testPattern(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}

func adoptResult(t *testing.T, r sysexec.Result, err error) {
	t.Helper()
	said := fmt.Sprintf("%s%s", r.Stdout, r.Stderr)
	switch {
	case err != nil:
		t.Fatalf("%v\n%s", err, said)
	case r.Exit != 0:
		t.Errorf("inside, status %d:\n%s", r.Exit, said)
	case strings.Contains(said, "--- SKIP: "+t.Name()+" "):
		t.Skip("inside: " + said)
	case !strings.Contains(said, "--- PASS: "+t.Name()+" "):
		t.Errorf("inside, the test did not run:\n%s", said)
	}
}

// Become gives up root permanently and for the whole process, which must run
// Inside.
func Become(t *testing.T, id int) {
	t.Helper()
	if os.Getenv(insideEnv) != t.Name() {
		t.Fatal("become another user only inside")
	}
	if err := syscall.Setgroups(nil); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setgid(id); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setuid(id); err != nil {
		t.Fatal(err)
	}
}

// Namespaces skips the test unless it may create namespaces, which needs root and,
// in a container, privileges.
func Namespaces(t testing.TB) {
	t.Helper()
	Need(t, os.Geteuid() == 0, "root, to make namespaces")
	unshare := Program(t, "unshare", "util-linux")
	r, err := sysexec.Host{}.Run(t.Context(), sysexec.Command{Path: unshare, Args: []string{"--net", "--mount", "true"}, Timeout: insideLimit})
	Need(t, err == nil && r.Exit == 0, "the right to make namespaces")
}

// Program skips the test unless a program is installed, and returns its path.
func Program(t testing.TB, name, from string) string {
	t.Helper()
	for _, dir := range []string{"/usr/local/sbin/", "/usr/local/bin/", "/usr/sbin/", "/usr/bin/", "/sbin/", "/bin/"} {
		if info, err := os.Stat(dir + name); err == nil && info.Mode()&0o111 != 0 {
			return dir + name
		}
	}
	Need(t, false, name+", of the Debian package "+from)
	return ""
}
