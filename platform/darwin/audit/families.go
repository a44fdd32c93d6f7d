// SPDX-License-Identifier: Apache-2.0

package audit

// families is the list of all checks.
//
// To add a family, write a file with a function that returns its checks, and add
// the function to this list; a test fails if one is missing. The rules are those of the
// checks on Linux (platform/linux/audit), and these:
//
//   - Programs run through machine.run, which has a timeout, and once for each fact: what
//     several checks need is a memo field of machine.
//   - An absent preference means the default of the release, not a setting that is off: it is
//     Unseen, unless the default is documented and the formula says so.
//   - Parsers know English output. Anything else is errUnknownOutput.
//   - Each check has verdicts on the fixture Macs; it must pass on one and not pass on
//     another. docs/audit.md is generated from this list: make generate.
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
