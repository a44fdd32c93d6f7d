// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"os"
	"strings"
	"testing"
)

// namespacesEnv passes the namespaces of the machine to the processes inside.
const namespacesEnv = "SENTINEL_TEST_HOME"

// namespaceKinds are the namespaces that a test must not share with the machine if it
// changes packet filters, file systems or processes.
var namespaceKinds = []string{"net", "mnt", "pid"}

// Isolated reruns the calling test as root in new network, mount and process
// namespaces, with loopback up and env ("NAME=VALUE") in its environment; see [Inside]. Processes
// that the test leaves behind end with it.
func Isolated(t *testing.T, env ...string) bool {
	t.Helper()
	return isolated(t, `exec "$@"`, env)
}

// IsolatedAsSecond is [Isolated] of a test that is not the first process there.
func IsolatedAsSecond(t *testing.T) bool {
	t.Helper()
	return isolated(t, `{ "$@"; exit $?; }`, nil)
}

func isolated(t *testing.T, start string, env []string) bool {
	t.Helper()
	if os.Getenv(insideEnv) == t.Name() {
		RequireIsolated(t)
		return true
	}
	Namespaces(t)
	unshare := Program(t, "unshare", "util-linux")
	ip := Program(t, "ip", "iproute2")
	return Inside(t, append(env, unshare, "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private",
		"/bin/sh", "-c", ip+" link set lo up && "+start, "sh")...)
}

// RequireIsolated fails the test at once unless it runs in its own namespaces. Helpers
// that change the system call it first: a test that was not isolated by mistake must
// not change the machine.
func RequireIsolated(t testing.TB) {
	t.Helper()
	home := strings.Fields(os.Getenv(namespacesEnv))
	if len(home) != len(namespaceKinds) {
		t.Fatal("a test that writes runs outside of namespaces of its own")
	}
	for i, here := range namespaces(t) {
		if here == home[i] {
			t.Fatalf("a test that writes shares the %s namespace with this machine", namespaceKinds[i])
		}
	}
}

// outerNamespaces are those of the machine, with which RequireIsolated compares.
func outerNamespaces(t testing.TB) string {
	t.Helper()
	if known := os.Getenv(namespacesEnv); known != "" {
		return known
	}
	return strings.Join(namespaces(t), " ")
}

// namespaces returns those of this process, in the order of namespaceKinds
// (namespaces(7)).
func namespaces(t testing.TB) []string {
	t.Helper()
	var names []string
	for _, kind := range namespaceKinds {
		name, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}
