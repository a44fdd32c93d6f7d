// SPDX-License-Identifier: Apache-2.0

package audit

// families is the list of all checks.
//
// A check is one entry in the list of its family: what it is (audit.About, all fields)
// and a function that looks at the machine and returns audit.Passed, Warned, Failed, NotApplicable
// (there is nothing to look at here), Unseen or Unread (there is, but it cannot be seen). A new
// family is a file with one function that returns its checks, and a line here; a test fails for a
// function that is missing here. CONTRIBUTING.md says what else a check needs. The compiler checks
// none of these rules:
//
//   - Only what was seen whole passes. A missing permission is Unread, never Passed; a
//     fault that was found is Failed, whatever else could not be read.
//   - Files are read with machine.read, machine.text and machine.stat, which are bounded
//     and stay below the root. Programs run through machine.command, which only a live
//     system has. Lists are cut where they are read.
//   - What several checks need is read once: it is an audit.Memo in machine.
//   - Evidence names the place: audit.At("/etc/passwd", line, text), or "COMMAND: text". It may
//     hold any text of the machine. A fix may not: people run it.
//   - A parser is a function of its own, pure and bounded, with a fuzz target; a large one is a
//     package below this directory.
//   - A check passes on one of the machines in testdata and does not on another.
func families() []func() []check {
	return []func() []check{
		firewallChecks,
		kernelChecks,
		networkChecks,
		sshChecks,
		updateChecks,
		timeChecks,
		loggingChecks,
		serviceChecks,
		fileChecks,
		treeChecks,
		mountChecks,
		processChecks,
		containerChecks,
		mcpChecks,
		accountChecks,
		sudoChecks,
		diskChecks,
		bootChecks,
		macChecks,
	}
}
