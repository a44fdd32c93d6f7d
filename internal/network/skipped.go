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

// maxUsers is how many users the error names.
const maxUsers = 3

// Error implements error.
func (e *SkippedError) Error() string {
	var whose []string
	if e.System {
		whose = append(whose, "the system")
	}
	for _, uid := range e.Users[:min(len(e.Users), maxUsers)] {
		whose = append(whose, "user "+strconv.Itoa(uid))
	}
	if more := len(e.Users) - maxUsers; more > 0 {
		whose = append(whose, humanize.Count(more, "other user", "other users"))
	}
	return fmt.Sprintf("the files of %s, of %s, are too many to look at all", humanize.Count(e.Processes, "process", "processes"), strings.Join(whose, ", "))
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
