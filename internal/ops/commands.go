// SPDX-License-Identifier: Apache-2.0

package ops

// Commands lists the actions that only people and the service manager use: neither
// a request nor a tool can reach them.
func Commands() []Operation {
	return []Operation{
		report,
		record,
		restoreBlocklist,
		verifyJournal,
		doctor,
	}
}

// Actions lists everything that a command line can request.
func Actions() []Operation { return append(All(), Commands()...) }
