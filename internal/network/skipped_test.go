// SPDX-License-Identifier: Apache-2.0

package network

import "testing"

func TestSkippedProcessesAreToldByTheirUsers(t *testing.T) {
	system := func(uid int) bool { return uid < 1000 }
	for _, c := range []struct {
		uids []int
		want string
	}{
		{[]int{1000}, "the files of 1 process, of user 1000, are too many to look at all"},
		{[]int{1001, 1000, 1001}, "the files of 3 processes, of user 1000, user 1001, are too many to look at all"},
		{[]int{0, 33, 1000}, "the files of 3 processes, of the system, user 1000, are too many to look at all"},
		{[]int{5001, 5002, 5003, 5004, 5005}, "the files of 5 processes, of user 5001, user 5002, user 5003, 2 other users, are too many to look at all"},
	} {
		if got := Skipped(c.uids, system).Error(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	if err := Skipped(nil, system); err != nil {
		t.Errorf("nobody: %v", err)
	}
}
