// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"strings"
	"testing"
)

func TestControlGroupIsThatOfTheServiceManager(t *testing.T) {
	for text, want := range map[string]string{
		"0::/system.slice/nginx.service\n": "/system.slice/nginx.service",
		"0::/a:b\n":                        "/a:b",
		"0::/\n":                           "/",
		"9:name=systemd:/a.service\n8:pids:/b\n0::/\n":               "/a.service",
		"9:name=systemd:/\n8:pids:/b\n0::/c.service\n":               "/c.service",
		"9:name=systemd:/docker/0123\n8:pids:/b\n0::/c.service\n":    "/c.service",
		"3:cpu,cpuacct:/d\n1:name=systemd:/system.slice/e.service\n": "/system.slice/e.service",
		"0::/whole.service\n2:pids:/system.slice/half of a line ":    "/whole.service",
	} {
		if got, err := parseControlGroup([]byte(text)); got != want || err != nil {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "3:cpu:/system.slice/x.service\n", "0:/a\n", "0::a\n", "0::\n", "nothing\n", "0::/cut"} {
		if got, err := parseControlGroup([]byte(text)); !errors.Is(err, ErrFormat) || got != "" {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func FuzzParseControlGroup(f *testing.F) {
	f.Add("9:name=systemd:/a.service\n8:pids:/b\n0::/c\n")
	f.Fuzz(func(t *testing.T, text string) {
		g, err := parseControlGroup([]byte(text))
		if (err == nil) != (g != "") || g != "" && (g[0] != '/' || !strings.Contains(text, ":"+g+"\n")) {
			t.Errorf("%q: %q, %v", text, g, err)
		}
	})
}
