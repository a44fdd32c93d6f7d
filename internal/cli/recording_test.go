// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"
)

func TestARequestForWhatIsRecordedIsKnownByItsArguments(t *testing.T) {
	for args, want := range map[string]bool{
		"--request terminate_process":              true,
		"--request=block_ip_address":               true,
		"--json --request send_telemetry_webhook":  true,
		"--request get_top_processes":              false,
		"--request":                                false,
		"--request nothing":                        false,
		"--kill 5":                                 false,
		"terminate_process":                        false,
		"--request security_audit --config /x.yml": false,
	} {
		if got := Records(strings.Fields(args)); got != want {
			t.Errorf("%s: %v, want %v", args, got, want)
		}
	}
}
