// SPDX-License-Identifier: Apache-2.0

package elevation

import (
	"strings"
	"testing"
)

func TestWhatTheRulesOfSudoTakeForARequest(t *testing.T) {
	for args, want := range map[string]bool{
		"--request|get_asset_info": true, "--request get_asset_info": true, "--request=get_asset_info": true,
		"--json": false, "": false, "--kill|--re": false,
	} {
		if got := IsRequest(strings.Split(args, "|")); got != want {
			t.Errorf("%q: %v", args, got)
		}
	}
}
