// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// bundled is a sentinel that prints that it came with the server, and its user.
const bundled = `#!/bin/sh
cat >/dev/null
echo "{\"success\":true,\"action\":\"${2#get_}\",\"tool\":\"$2 bundled\",\"uid\":$(id -u),\"sudo_uid\":\"$SUDO_UID\"}"
`

// unpacked puts both programs where a client unpacks a bundle: below a home directory, writable by
// its user.
const unpacked = `mkdir -p /opt/home/bundle/server
cp "$WORLD/bundled" /opt/home/bundle/server/sentinel
cp "$WORLD/sentinel-mcp" /opt/home/bundle/server/
chown -R sentineltest /opt/home
chmod -R 0755 /opt/home
mount -t tmpfs -o mode=755 tmpfs /usr/local/bin
`

const withRoots = "cp /opt/bin/sentinel /usr/local/bin/sentinel\nchmod 0755 /usr/local/bin/sentinel\n"

// everywhere has a rule for the installed sentinel and an unsafe one for that of the bundle.
const everywhere = "sentineltest ALL=(root) NOPASSWD: /usr/local/bin/sentinel --request get_system_health\n" +
	"sentineltest ALL=(root) NOPASSWD: /opt/home/bundle/server/sentinel --request get_system_health\n"

func TestBundleRunsWhatRootInstalledAndNeverItsOwnAsRoot(t *testing.T) {
	for name, test := range map[string]struct {
		change string
		want   map[string]string
	}{
		"alone":                     {unpacked, map[string]string{"get_system_health bundled": "12345", "get_top_processes bundled": "12345"}},
		"installed":                 {unpacked + withRoots, map[string]string{"get_system_health": "0 12345", "get_top_processes": "12345"}},
		"installed, but not root's": {unpacked + withRoots + "chown sentineltest /usr/local/bin/sentinel\n", map[string]string{"get_system_health bundled": "12345", "get_top_processes bundled": "12345"}},
		"installed, others write":   {unpacked + withRoots + "chmod 0775 /usr/local/bin\n", map[string]string{"get_system_health bundled": "12345", "get_top_processes bundled": "12345"}},
		"a link to what others own": {unpacked + "ln -s /opt/home/bundle/server/sentinel /usr/local/bin/sentinel\n", map[string]string{"get_system_health bundled": "12345", "get_top_processes bundled": "12345"}},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"sudoers": silent + everywhere, "sentinel": whoami, "bundled": bundled}
			cmd := staged(t, files, test.change, "/opt/home/bundle/server/sentinel-mcp --log-level info")
			got, log := users(t, cmd, "get_system_health", "get_top_processes")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("who ran what (-want +got):\n%s\n%s", diff, log)
			}
		})
	}
}
