// SPDX-License-Identifier: Apache-2.0

package ops

// dryRun is the option of the same name, for programs. Every tool that changes something or sends
// data out has it.
var dryRun = Field{
	Name: "dry_run", Flag: "dry-run", Kind: Boolean, Default: false,
	Description: "Change nothing, say what would be done",
}
