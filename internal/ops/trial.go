// SPDX-License-Identifier: Apache-2.0

package ops

// confirm keeps a change of the firewall that is on trial.
var confirm = Field{
	Name: "confirm", Flag: "confirm", Kind: Boolean, Default: false,
	Description: "Keep what is on trial. Only in a later call, once the user has seen a NEW remote session work; never on your own",
}

// maxServices is the longest list of services, in runes.
const maxServices = 400

// servicesFix says how services are written.
const servicesFix = "Send names such as https, ports such as 8443/tcp, or several with commas between them."
