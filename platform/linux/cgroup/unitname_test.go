// SPDX-License-Identifier: Apache-2.0

package cgroup

import "testing"

func TestUnitsOfControlGroups(t *testing.T) {
	for path, want := range map[string]string{
		"/system.slice/nginx.service":                                             "nginx.service",
		"/system.slice/system-getty.slice/getty@tty1.service/private":             "getty@tty1.service",
		"/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.service/y": "app-x.service",
		"/user.slice/user-1000.slice/user@1000.service":                           "user@1000.service",
		"/user.slice/user-1000.slice/session-2.scope":                             "session-2.scope",
		"/docker/0123/x.service":                                                  "", "/": "", "": "", "/system.slice": "",
	} {
		if got := Unit(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
