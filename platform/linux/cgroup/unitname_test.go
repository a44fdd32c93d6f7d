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
		"/user.slice/user-1000.slice/user@1000.service/x, y (user root).service":  "user@1000.service",
		"/system.slice/dev-disk\\x2d1.service":                                    `dev-disk\x2d1.service`,
		"/docker/0123/x.service":                                                  "", "/": "", "": "", "/system.slice": "",
	} {
		if got := Unit(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// Users name their own units as they like.
func TestUnitsOfUsersAreShownAsTheirs(t *testing.T) {
	for path, want := range map[string]string{
		"/user.slice/user-1500.slice/user@1500.service/app.slice/mysql.service": "user@1500.service/mysql.service",
		"/user.slice/user-1500.slice/user@1500.service/a":                       "user@1500.service",
		"/user.slice/user-1500.slice/user@1500.service":                         "user@1500.service",
		"/user.slice/user-1500.slice/session-2.scope":                           "session-2.scope",
		"/system.slice/mysql.service":                                           "mysql.service",
		"/user.slice/user-1500.slice/user@1500.service.d":                       "user@1500.service.d", "/user.slice": "", "": "",
	} {
		if got := ShownUnit(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestUsersOfControlGroups(t *testing.T) {
	for path, want := range map[string]int{
		"/user.slice/user-1500.slice/session-2.scope": 1500, "/user.slice/user-0.slice": 0,
		"/system.slice/user-1500.slice": -1, "/user.slice/user-x.slice": -1, "/user.slice/user-1500": -1, "/user.slice": -1, "": -1,
	} {
		got, ok := User(path)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%s: %d, %t", path, got, ok)
		}
	}
}
