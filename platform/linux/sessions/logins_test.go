// SPDX-License-Identifier: Apache-2.0

//go:build linux

package sessions

import (
	"fmt"
	"testing"

	"sentinel/internal/testenv"
)

// The session manager keeps a file for each job of cron(8) too, and a pipe beside it.
func TestManyJobsOfAUserHideNoLogin(t *testing.T) {
	files := map[string]string{"run/systemd/sessions/zz": "CLASS=user\nUSER=ann\nLEADER=7\n"}
	for n := range 4000 {
		files[fmt.Sprintf("run/systemd/sessions/c%d", n)] = "CLASS=background\nUSER=eve\nLEADER=1\n"
		files[fmt.Sprintf("run/systemd/sessions/c%d.ref", n)] = ""
	}
	list, unread := (&reading{Reader: New(testenv.Plant(t, files))}).logins()
	if len(unread) != 0 || len(list) != 1 || list[0].User != "ann" || list[0].Leader != 7 {
		t.Errorf("got %+v, not read: %v", list, unread)
	}
}
