// SPDX-License-Identifier: Apache-2.0

package cli

import "github.com/spf13/cobra"

// Commands returns the subcommands. One more is a file with the function that makes it, and
// its line here.
func Commands() []*cobra.Command {
	return []*cobra.Command{
		runCommand(),
		policyCommand(),
		wrapCommand(),
		unwrapCommand(),
		callsCommand(),
		eventsCommand(),
		reportCommand(),
		verifyCommand(),
		doctorCommand(),
		statusCommand(),
	}
}
