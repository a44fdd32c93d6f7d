// SPDX-License-Identifier: Apache-2.0

package mac

import (
	"strings"
	"testing"
	"time"
)

// macOS keeps programs of applications from the local network; root is exempt.
func TestWhoDoesNotReachTheLocalNetworkLearnsWhy(t *testing.T) {
	nothing := func(string) string { return "" }
	user := Open(System{Root: t.TempDir(), EUID: 501, Getenv: nothing, Now: time.Now})
	root := Open(System{Root: t.TempDir(), Getenv: nothing, Now: time.Now})
	for _, said := range []string{user.Unreached, user.DNS.Unreached, user.Scan.Sources.RouteCheck("192.0.2.7"), user.Traceroute.RouteCheck("192.0.2.7")} {
		if !strings.Contains(said, "run sentinel in Terminal, over ssh or as root") {
			t.Errorf("%q", said)
		}
	}
	if root.Unreached != "" || root.DNS.Unreached != "" || root.Scan.Sources.RouteCheck("192.0.2.7") != "route -n get 192.0.2.7" {
		t.Errorf("%q, %q, %q", root.Unreached, root.DNS.Unreached, root.Scan.Sources.RouteCheck("192.0.2.7"))
	}
}
