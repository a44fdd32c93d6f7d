// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestIsolatedRunsInNamespacesOfItsOwn(t *testing.T) {
	if !Isolated(t) {
		return
	}
	if raw, err := os.ReadFile("/proc/1/comm"); err != nil || strings.TrimSpace(string(raw)) == "systemd" {
		t.Errorf("process 1 is %q, %v", raw, err)
	}
	if out, err := exec.Command("ip", "-o", "link").CombinedOutput(); err != nil || strings.Count(string(out), "\n") != strings.Count(string(out), ": lo")+strings.Count(string(out), "NOARP") {
		t.Errorf("links of the machine are here: %s %v", out, err)
	}
}

// TestThatIsNotIsolated is run by TestRequireIsolatedFailsOnTheMachineItself: a test
// that would change the machine.
func TestThatIsNotIsolated(t *testing.T) {
	if os.Getenv("SENTINEL_TEST_LOST") == "" {
		return
	}
	RequireIsolated(t)
	t.Log("went on")
}

func TestRequireIsolatedFailsOnTheMachineItself(t *testing.T) {
	for _, lost := range []string{"", outerNamespaces(t), "net:[1] mnt:[1]"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestThatIsNotIsolated$", "-test.v")
		cmd.Env = append(os.Environ(), "SENTINEL_TEST_LOST=1", namespacesEnv+"="+lost)
		out, err := cmd.CombinedOutput()
		if err == nil || strings.Contains(string(out), "went on") || !strings.Contains(string(out), "a test that writes") {
			t.Errorf("with home %q: %v\n%s", lost, err, out)
		}
	}
}
