// SPDX-License-Identifier: Apache-2.0

package network

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/answer"
	"sentinel/internal/network"
	"sentinel/internal/sysexec/replay"
)

// Every Mac reports the owner of each socket that has one, to root and to other users.
func TestMachines(t *testing.T) {
	const macs = "../../../testdata/macs/"
	want := []string{
		"935 Google Chrome 192.0.2.20:64161 203.0.113.95:443 ESTABLISHED",
		"935 Google Chrome 192.0.2.20:59739 203.0.113.109:443 ESTABLISHED",
		"1803 ssh [2001:db8::20]:49152 [2001:db8:1::9]:22 ESTABLISHED",
		"0  192.0.2.20:59740 203.0.113.109:443 TIME_WAIT",
		"1 launchd tcp [::]:22", "812 web tcp 192.0.2.20:8080", "298 mDNSResponder udp 0.0.0.0:5353", "298 mDNSResponder udp [::]:5353", "1 launchd tcp 127.0.0.1:631",
	}
	for name, c := range map[string]struct {
		dirs []string
		euid int
	}{
		"M4, root": {[]string{"m4-26/exec"}, 0}, "M4, user": {[]string{"m4-26/exec", "m4-26-user/exec"}, 501}, "Intel, root": {[]string{"intel-12/exec"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var dirs []string
			for _, f := range c.dirs {
				dirs = append(dirs, macs+f)
			}
			runner, err := replay.OpenMachine(dirs...)
			if err != nil {
				t.Fatal(err)
			}
			var gaps answer.Gaps
			source := New(runner, c.euid)
			got, err := network.Collect(t.Context(), source, 0, &gaps)
			if err != nil || len(gaps) != 0 {
				t.Fatal(err, gaps)
			}
			if diff := cmp.Diff(want, lines(got)); diff != "" {
				t.Error(diff)
			}
			if list, err := source.Interfaces(t.Context()); err != nil || len(list) != 4 || !list[0].Loopback {
				t.Errorf("%+v, %v", list, err)
			}
		})
	}
}
