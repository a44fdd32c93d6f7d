// SPDX-License-Identifier: Apache-2.0

package ops

import "time"

var verifyJournal = Operation{
	Name:       "verify_journal",
	Action:     "verify_journal",
	Flag:       "verify-journal",
	Title:      "Verify journal",
	Usage:      "check that no line of the journal was changed, removed or cut off",
	Effect:     Read,
	Idempotent: true,
	Privilege:  NeedsRoot,
	Deadline:   40 * time.Second,
	Codes:      []string{"JOURNAL_FAILED"},
	Fields: []Field{{
		Name: "heads", Flag: "heads", Placeholder: "FILE", Kind: Text, MaxLength: 4096,
		Description: "Compare with the signed heads in a log that syslog kept",
	}, {
		Name: "key", Flag: "key", Placeholder: "KEY", Kind: Text, MaxLength: 43,
		Description: "That signed heads, as key= in them: the journal must be the one that it signed for (with --heads)",
	}},
}
