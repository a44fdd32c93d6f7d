// SPDX-License-Identifier: Apache-2.0

package audit

// families is the list of all checks.
//
// To add a family, write a file with one function that returns its checks, and
// put the function in this list; a test fails for a function left out. The rules are those
// of the checks on Linux (platform/linux/audit), and these:
//
//   - Programs run through machine.ask, each with a limit, and each fact by one run: what
//     several checks need is a memo field of machine.
//   - An absent preference is the default of the release and not a setting that is off: it is
//     Unseen, unless what it stands for is documented and the formula says so.
//   - A parser takes words of English that are known. Anything else is errWords.
//   - Each check gets its verdicts on the fixture Macs, and passes on one and does not on
//     another. docs/audit.md is made from this list: make generate.
func families() []func() []check {
	return []func() []check{
		systemChecks,
		firewallChecks,
		updateChecks,
		sharingChecks,
		sshChecks,
		serviceChecks,
		accountChecks,
		sudoChecks,
		managementChecks,
		startupChecks,
		privacyChecks,
		mcpChecks,
	}
}
