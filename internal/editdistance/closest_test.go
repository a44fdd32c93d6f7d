// SPDX-License-Identifier: Apache-2.0

package editdistance

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestClosestNamesAreThoseThatWereProbablyMeant(t *testing.T) {
	known := []string{"top", "top-count", "kill", "block-ip", "unblock-ip", "list-blocked", "scan-ports", "port-range", "sort", "force", "read-only", "ttl", "dns"}
	for typed, want := range map[string][]string{
		"tpo":                     {"top"},
		"kil":                     {"kill"},
		"blok-ip":                 {"block-ip"},
		"ports":                   {"scan-ports"},
		"port":                    {"sort", "port-range", "scan-ports"},
		"block":                   {"block-ip", "list-blocked"},
		"readonly":                {"read-only"},
		"count":                   {"top-count"},
		"nope":                    nil,
		"x":                       nil,
		"":                        nil,
		strings.Repeat("top", 99): nil,
	} {
		if diff := cmp.Diff(want, Closest(typed, append(known, known...))); diff != "" && (len(want) > 0 || len(Closest(typed, known)) > 0) {
			t.Errorf("%q (-want +got):\n%s", typed, diff)
		}
	}
}
