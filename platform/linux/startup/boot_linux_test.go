// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/testenv"
	"sentinel/platform/linux/unitfile"
)

// startedAtBoot are the services that systemd has started.
func startedAtBoot(t *testing.T) (services []string) {
	t.Helper()
	out, err := exec.Command("systemctl", "show", "--property=Id,InactiveExitTimestampMonotonic", "--", "*.service").Output()
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(string(out), "\n\n") {
		shown := map[string]string{}
		unitfile.Variables(block, func(name, value string) { shown[name] = value })
		if shown["InactiveExitTimestampMonotonic"] != "0" {
			services = append(services, shown["Id"])
		}
	}
	return services
}

// What systemd starts is told, and told to start.
func TestWhatSystemdStartsAtBootIsTold(t *testing.T) {
	if !testenv.Booted(t, nil) {
		return
	}
	plantVendored(t, "/")
	testenv.Systemctl(t, true, "daemon-reload")
	testenv.Systemctl(t, true, "start default.target")
	var services []string
	testenv.WaitFor(t, "all that was planted is started", func() bool {
		services = startedAtBoot(t)
		return !slices.ContainsFunc(slices.Collect(maps.Keys(vendored)), func(name string) bool {
			return strings.HasSuffix(name, ".service") && !slices.Contains(services, strings.Replace(name, "@.", "@x.", 1))
		})
	})
	told := enabled(t, "/")
	for _, name := range services {
		if is, ok := told[name]; !is && name != "inside.service" {
			t.Errorf("%s is started, and told: %v", name, ok)
		}
	}
}
