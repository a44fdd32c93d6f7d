// SPDX-License-Identifier: Apache-2.0

//go:build linux

package docs

import (
	"os"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/testenv"
)

// A way is one way through the commands of the README, from a bare Debian to
// nothing left. Installing a package and make install are two.
type way struct {
	instead map[string]string // a line, and what stands in for it here
	left    map[string]string // a line that this way leaves out, and why
}

const (
	clone   = "git clone URL-OF-THIS-REPOSITORY sentinel && cd sentinel"
	byHand  = "sudo make install"
	unmake  = "sudo make uninstall"
	isOther = "the other way"

	inElsewhere = "needs other machines; test/elsewhere has some"
)

// nowhere are the lines that no way runs.
func nowhere() map[string]string {
	return map[string]string{
		"sudo dnf install ./dist/sentinel-*.rpm":           "Debian does not install packages of Fedora; both come from one tree",
		"sudo packaging/macos/install.sh":                  "needs a Mac; packaging/macos tests what it puts where",
		"sudo /usr/local/share/sentinel/uninstall.sh":      "needs a Mac, likewise",
		"sentinel --host web-1 --top":                      inElsewhere,
		"sentinel --fleet-health --host web-1 --host db-1": inElsewhere,
		"make mcpb":                        "test/clients makes the bundles and runs what is in them",
		"make test":                        "this test is a part of it",
		"SENTINEL_REQUIRE_ALL=1 make test": "this test is a part of it",
		"make lint":                        "fetches the linter from the network",
		"make bench":                       "takes minutes, and measures the machine",
	}
}

func withPackage() way {
	return way{
		instead: map[string]string{clone: "cp -r /checkout sentinel && cd sentinel"},
		left:    map[string]string{"make build": isOther, byHand: isOther, unmake: isOther},
	}
}

func withMake() way {
	return way{
		instead: map[string]string{clone: "cp -r /checkout sentinel && cd sentinel"},
		left: map[string]string{
			"make package": isOther, "sudo apt install ./dist/sentinel_*.deb": isOther, "sudo apt remove sentinel": isOther,
		},
	}
}

func TestTheReadmeRunsWithThePackage(t *testing.T) { walk(t, withPackage()) }

func TestTheReadmeRunsWithMakeInstall(t *testing.T) { walk(t, withMake()) }

// Nothing is left out that the README does not have, and nothing by both ways.
func TestNothingIsLeftOutInSilence(t *testing.T) {
	lines := pages(t)["README.md"].commands()
	ways := []way{withPackage(), withMake()}
	for _, w := range append(ways, way{left: nowhere()}) {
		for line, why := range w.left {
			if !slices.Contains(lines, line) || why == "" {
				t.Errorf("the README has no line %q, or it is left out without a reason", line)
			}
		}
		for line := range w.instead {
			if !slices.Contains(lines, line) {
				t.Errorf("the README has no line %q", line)
			}
		}
	}
	for line := range ways[0].left {
		if ways[1].left[line] != "" {
			t.Errorf("both ways leave out %q", line)
		}
	}
}

// walk runs the lines one after the other, each as a person with sudo types it
// into a shell of its own.
func walk(t *testing.T, w way) {
	t.Helper()
	if !testenv.BootedWith(t, units(), luggage(t)) {
		return
	}
	raw, err := os.ReadFile("/checkout/README.md")
	if err != nil {
		t.Fatal(err)
	}
	a := arrive(t)
	for _, line := range parse(string(raw)).commands() {
		typed := line
		if other, ok := w.instead[line]; ok {
			typed = other
		}
		if why := w.left[line] + nowhere()[line]; why != "" {
			t.Logf("not run: %s (%s)", line, why)
			continue
		}
		a.prepare(t, line)
		if out, err := a.types(typed); err != nil {
			t.Errorf("$ %s\n%v\n%s", line, err, out)
		} else if strings.TrimSpace(out) == "" && speaks(line) {
			t.Errorf("$ %s\nprinted nothing", line)
		}
	}
	a.leaves(t)
}

// speaks says that a line has to print something.
func speaks(line string) bool {
	words := strings.Fields(strings.TrimPrefix(line, "sudo "))
	return words[0] == "sentinel" || strings.HasSuffix(line, "sentinel-mcp")
}
