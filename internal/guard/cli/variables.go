// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"sentinel/internal/guard/limits"
	"sentinel/internal/guard/policy"
	"sentinel/internal/guard/record"
)

// A Variable is one of the environment that is read.
type Variable struct{ Name, About string }

// Variables are all that are read, those of the first gateway first. A test compares them with the
// code.
var Variables = []Variable{
	{record.AuditVariable, "One more file that refused calls are written to, as lines of JSON: shapes, no values."},
	{policy.Variable, "One more file of rules, as an entry in the configuration of a client names it. It can tighten the others, not loosen them."},
	{limits.CallsVariable, fmt.Sprintf("How often each tool may be called in the window (default %d, where one of the next two is set).", limits.DefaultCalls)},
	{limits.WindowVariable, fmt.Sprintf("The window, in seconds (default %d).", limits.DefaultWindow)},
	{limits.BreakerVariable, "true has the quota of the two above hold with their defaults, false switches it off. It holds besides the limits of the rules."},
	{limits.AskingVariables + "*", "Not used, because nobody can be asked; said on standard error."},
	{"XDG_CONFIG_HOME", "Where the folder sentinel with the rules of the user is, and the configurations of some clients. Not on macOS."},
	{"XDG_STATE_HOME", "Where the folder sentinel with the record is."},
	{"CLAUDE_CONFIG_DIR", "Where Claude Code has its configuration, as for that program."},
	{"COPILOT_HOME", "Where GitHub Copilot CLI has its configuration, as for that program."},
	{"HOME", "The home, below which all files of the user are, and what ${HOME} is in rules."},
	{"PATH", "Where the programs of servers are looked for."},
	{"SUDO_UID", "Where it names another user, root does not change configurations of clients: they are that user's."},
}
