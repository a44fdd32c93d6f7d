// SPDX-License-Identifier: Apache-2.0

package ops

// confirm keeps a change of the firewall that is on trial.
var confirm = Field{
	Name: "confirm", Flag: "confirm", Kind: Boolean, Default: false,
	Description: "Keep the change that is on trial. Only in a later call than the one that made it, " +
		"and only after the user has seen that a NEW remote session works; never on your own",
}

// dryRun is the option of the same name, for programs.
var dryRun = Field{
	Name: "dry_run", Flag: "dry-run", Kind: Boolean, Default: false,
	Description: "Only say what would be done and which services it would close or expose; change nothing",
}

// maxServices is the longest list of services, in runes.
const maxServices = 400

// servicesFix says how services are written.
const servicesFix = "Send names such as https, ports such as 8443/tcp, or several with commas between them."
