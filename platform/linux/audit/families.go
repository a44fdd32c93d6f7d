// SPDX-License-Identifier: Apache-2.0

package audit

// families is the list of all checks.
//
// To add a family, write a file with one function that returns its checks, and
// put the function in this list; a test fails for a function left out. A check is a literal:
// what it is (audit.About, all fields) and a function that looks at the machine and returns one of
// audit.Passed, Warned, Failed, NotApplicable (there is nothing to look at here), Unseen and
// Unread (there is, but not for us). Of these rules none is checked by the compiler:
//
//   - A pass is only what was seen whole. A missing permission is Unread, never Passed;
//     a fault that was seen is Failed, whatever else could not be read.
//   - Files are read with machine.read, machine.text and machine.stat, which are bounded
//     and stay below the root. Programs run through machine.command, which only a live
//     system has. Lists are cut where they are read.
//   - What several checks need is read once: a memo field of machine.
//   - Evidence names the place: audit.At("/etc/passwd", line, text), or "COMMAND: text". Texts need not
//     be cleaned, but no text of the machine goes into a fix: people run it.
//   - A parser is a function of its own, pure and bounded, with a fuzz target; a large one is a
//     package below this directory.
//   - Each check gets its verdicts in the fixtures of testdata, and passes in one and does
//     not in another. docs/audit.md is made from this list: make generate.
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
