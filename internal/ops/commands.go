// SPDX-License-Identifier: Apache-2.0

package ops

// Commands lists what is there for people and for the service manager alone: no
// request and no tool reaches it.
func Commands() []Operation {
	return []Operation{
		report,
		restoreBlocklist,
		verifyJournal,
		doctor,
	}
}

// Actions lists all that a command line can ask for.
func Actions() []Operation { return append(All(), Commands()...) }
