// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"os"
	"strings"
	"testing"
)

// homeMark carries the namespaces of the machine that runs the tests into what
// runs inside.
const homeMark = "SENTINEL_TEST_HOME"

// kinds are the namespaces that a test which changes the system must not share
// with the machine: its packet filter, its file systems and its processes.
var kinds = []string{"net", "mnt", "pid"}

// Isolated runs the calling test once more, as root in network, mount and
// process namespaces of its own, with loopback up and env ("NAME=VALUE") besides; see
// [Inside]. Processes that the test leaves behind end with it.
func Isolated(t *testing.T, env ...string) bool {
	t.Helper()
	if os.Getenv(mark) == t.Name() {
		Alone(t)
		return true
	}
	Namespaces(t)
	unshare := Program(t, "unshare", "util-linux")
	ip := Program(t, "ip", "iproute2")
	return Inside(t, append(env, unshare, "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private",
		"/bin/sh", "-c", ip+` link set lo up && exec "$@"`, "sh")...)
}

// Alone ends the test at once unless it runs in namespaces of its own. Whatever
// writes to the system calls it before its first write: a test that has lost its way
// must not end or block anything of the machine.
func Alone(t testing.TB) {
	t.Helper()
	home := strings.Fields(os.Getenv(homeMark))
	if len(home) != len(kinds) {
		t.Fatal("a test that writes runs outside of namespaces of its own")
	}
	for i, here := range namespaces(t) {
		if here == home[i] {
			t.Fatalf("a test that writes shares the %s namespace with this machine", kinds[i])
		}
	}
}

// home is what Alone compares with: the namespaces of the outermost test.
func home(t testing.TB) string {
	t.Helper()
	if known := os.Getenv(homeMark); known != "" {
		return known
	}
	return strings.Join(namespaces(t), " ")
}

// namespaces names those of this process, in the order of kinds
// (namespaces(7)).
func namespaces(t testing.TB) []string {
	t.Helper()
	var names []string
	for _, kind := range kinds {
		name, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}
