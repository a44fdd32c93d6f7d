// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strconv"
	"time"

	"sentinel/internal/fault"
	"sentinel/internal/humanize"
)

// pidText shows a PID, or a dash where it is not known.
func pidText(pid int) string {
	if pid == 0 {
		return "-"
	}
	return strconv.Itoa(pid)
}

// known shows a text, or a dash where it is not known.
func known(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// whenText is [humanize.Moment] of a time in a document.
func whenText(rfc3339 string) string {
	t, err := time.Parse(time.RFC3339, rfc3339)
	if err != nil {
		return known(rfc3339)
	}
	return humanize.Moment(t)
}

// failureWord is the verdict on what did not happen: only what was tried has failed.
func failureWord(code fault.Code) (tone, string) {
	switch code {
	case fault.AlreadyBlocked, fault.NotBlocked:
		return warn, "UNCHANGED"
	}
	switch code.Exit() {
	case fault.ExitUsage:
		return severe, "INVALID"
	case fault.ExitPermission:
		return severe, "DENIED"
	case fault.ExitRefused:
		return severe, "REFUSED"
	case fault.ExitQueued:
		return warn, "QUEUED"
	case fault.ExitInterrupted:
		return warn, "CANCELLED"
	default:
		return severe, "FAILED"
	}
}

// counted is [humanize.Count] of a word whose plural ends in s.
func counted(n int, what string) string { return humanize.Count(n, what, what+"s") }
