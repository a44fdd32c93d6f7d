// SPDX-License-Identifier: Apache-2.0

package installed

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestRuleProgram(t *testing.T) {
	for command, want := range map[string]string{
		"/usr/local/bin/sentinel --request block_ip_address":  "/usr/local/bin/sentinel",
		"/opt/sentinel/bin/sentinel --request get_asset_info": "/opt/sentinel/bin/sentinel",
		"/usr/bin/sentinel --request list_blocked_ips":        "/usr/bin/sentinel",
		"/srv/tools/sentinel --request list_blocked_ips":      "/srv/tools/sentinel",
		"/usr/bin/sentinel":                                     "",
		"/usr/bin/sentinel *":                                   "",
		"/usr/bin/sentinel --request *":                         "",
		"/usr/bin/sentinel --request ":                          "",
		"/usr/bin/sentinel --request a b":                       "",
		"/usr/bin/sentinel --json":                              "",
		"/usr/bin/sentinel-mcp --request get_asset_info":        "",
		"/usr/*/sentinel --request get_asset_info":              "",
		"/usr/bin/../../home/sentinel --request get_asset_info": "",
		"sentinel --request get_asset_info":                     "",
		"ALL":                                                   "",
		"":                                                      "",
	} {
		if got, ok := RuleProgram(command); got != want && ok || ok != (want != "") {
			t.Errorf("%q: %q, %v", command, got, ok)
		}
	}
}

// The files in packaging name the first directory, and the scripts of macOS the second.
func TestPackagingNamesTheseDirs(t *testing.T) {
	for file, word := range map[string]string{
		"sudoers.d/sentinel": Local + "/" + Sentinel + " --request ", "systemd/sentinel-restore.service": Local + "/" + Sentinel + " ",
		"launchd/com.sentinel.restore.plist": Local + "/" + Sentinel + "<", "macos/build-pkg.sh": "PREFIX=" + strings.TrimSuffix(Opt, "/bin"),
		"macos/install.sh": "prefix=" + strings.TrimSuffix(Opt, "/bin"), "nfpm.yaml": "dst: " + Package + "/" + Sentinel,
	} {
		raw, err := os.ReadFile("../../packaging/" + file)
		if err != nil || !strings.Contains(string(raw), word) {
			t.Errorf("%s does not have %q: %v", file, word, err)
		}
	}
	if want := []string{"/usr/local/bin/sentinel-mcp", "/opt/sentinel/bin/sentinel-mcp", "/usr/bin/sentinel-mcp"}; !slices.Equal(Paths("sentinel-mcp"), want) {
		t.Error(Paths("sentinel-mcp"))
	}
}
