// SPDX-License-Identifier: Apache-2.0

//go:build linux

package systemd

// SSHServices and SSHSockets are the units of SSH servers. Debian calls those of
// OpenSSH ssh, other distributions sshd.
var (
	SSHServices = []string{"ssh.service", "sshd.service", "dropbear.service"}
	SSHSockets  = []string{"ssh.socket", "sshd.socket", "dropbear.socket"}
)
