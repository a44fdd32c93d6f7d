// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"fmt"
	"strings"
	"testing"
)

// A list of blocked addresses may have as many entries as are printed at most.
func TestLargeIPSetsAreCompared(t *testing.T) {
	var entries strings.Builder
	for i := 0; entries.Len() < maxPrinted-100; i++ {
		fmt.Fprintf(&entries, " 198.%d.%d.%d", i>>16&255, i>>8&255, i&255)
	}
	now, later := properties{}, properties{}
	now.add("ipset ", "blocked\n  type: hash:ip\n  entries:"+entries.String()+" 192.0.2.7\n")
	later.add("ipset ", "blocked\n  type: hash:ip\n  entries:"+entries.String()+"\n")
	if got := now.beyond(later, "now"); len(got) != 1 || got[0] != "ipset blocked, entries: 192.0.2.7 (now only)" {
		t.Errorf("got %.300q", got)
	}
}
