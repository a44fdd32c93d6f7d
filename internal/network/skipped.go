// SPDX-License-Identifier: Apache-2.0

package network

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sentinel/internal/humanize"
)

// A SkippedError reports processes whose open files were not all looked at, because there are too
// many. It stands beside the owners that were found.
type SkippedError struct {
	Processes int
	Users     []int // IDs of the ordinary users whose processes they are
	System    bool  // processes of the system are among them
}

// maxUsers is how many users a sentence names.
const maxUsers = 3

// Error implements error.
func (e *SkippedError) Error() string {
	return fmt.Sprintf("the files of %s, of %s, are too many to look at all", humanize.Count(e.Processes, "process", "processes"), strings.Join(whose(e.System, e.Users), ", "))
}

// whose names the first of the users.
func whose(system bool, users []int) []string {
	var list []string
	if system {
		list = append(list, "the system")
	}
	for _, uid := range users[:min(len(users), maxUsers)] {
		list = append(list, "user "+strconv.Itoa(uid))
	}
	if more := len(users) - maxUsers; more > 0 {
		list = append(list, humanize.Count(more, "other user", "other users"))
	}
	return list
}

// Skipped returns the error for so many processes of users by their IDs, of which those in system
// are the system's own; nil if there are none.
func Skipped(uids []int, system func(uid int) bool) error {
	if len(uids) == 0 {
		return nil
	}
	e := &SkippedError{Processes: len(uids)}
	for _, uid := range uids {
		if system(uid) {
			e.System = true
		} else {
			e.Users = append(e.Users, uid)
		}
	}
	slices.Sort(e.Users)
	e.Users = slices.Compact(e.Users)
	return e
}
