// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"sentinel/internal/fault"
)

// What a run changes of the page: the hour, the host's name, use over the window.
var fleeting = regexp.MustCompile(`(?m)^(sentinel_collected_timestamp_seconds|sentinel_cpu_used_ratio|sentinel_info)(\{.*\})? .*$`)

func TestHealthAsMetrics(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the fixture machines are of Linux")
	}
	for _, machine := range []string{"laptop", "container"} {
		page, status := run(t, filepath.Join("..", "..", "testdata", "hosts", machine), "--output", "prometheus")
		if status != fault.ExitOK {
			t.Fatalf("%s: exit status %d: %s", machine, status, page)
		}
		golden(t, filepath.Join("testdata", "prometheus", machine+".txt"), fleeting.ReplaceAll(page, []byte("$1 (volatile)")))
	}
}

func TestMetricsAreOfHealthAlone(t *testing.T) {
	for args, want := range map[string]string{
		"--output xml": "INVALID_ARGUMENT", "--output": "USAGE", "--top --output prometheus": "USAGE", "--json --output prometheus": "USAGE",
		"--request get_system_health --output prometheus": "USAGE", "--output json --top --output prometheus": "USAGE",
	} {
		raw, status := run(t, filepath.Join("..", "..", "testdata", "hosts", "laptop"), strings.Fields(args)...)
		if status != fault.ExitUsage || !strings.Contains(string(raw), `"error_code":"`+want+`"`) {
			t.Errorf("%s: exit status %d: %s", args, status, raw)
		}
	}
}
