// SPDX-License-Identifier: Apache-2.0

// Package sshserver knows the programs that serve SSH by the names of their
// processes. Anyone can give a program such a name: callers check its user too.
package sshserver

import (
	"slices"
	"strings"
)

type program struct {
	name    string
	listens bool // for new connections; the others serve one that was handed to them
	login   bool // runs only until its client has logged in
	openSSH bool
}

// programs lists them all. OpenSSH has a program for sessions since 9.8 (macOS
// 15) and one for logins since 10.0 (macOS 26).
var programs = []program{
	{name: "sshd", listens: true, openSSH: true},
	{name: "sshd-session", openSSH: true},
	{name: "sshd-auth", openSSH: true, login: true},
	{name: "dropbear", listens: true},
}

// Names lists the names of the processes of SSH servers.
func Names() []string {
	names := make([]string, len(programs))
	for i, p := range programs {
		names[i] = p.name
	}
	return names
}

// Is says whether processes of this name belong to an SSH server.
func Is(name string) bool { return find(name).name != "" }

// Listens says whether processes of this name wait for new connections. What
// another one listens on is a port that its client has forwarded.
func Listens(name string) bool { return find(name).listens }

func find(name string) program {
	if i := slices.IndexFunc(programs, func(p program) bool { return p.name == name }); i >= 0 {
		return programs[i]
	}
	return program{}
}

// AwaitsLogin says that a process serves a client that has not logged in yet.
// sshd rewrites its command line: it ends with "[net]" in the unprivileged process that talks
// to the client before the login, and with "[accepted]" or still has the options -R or -i
// earlier. "[listener]" marks the server itself, which hands connections on. Dropbear leaves
// its command line alone, where -R and -i mean something else.
func AwaitsLogin(name string, commandLine []string) bool {
	p := find(name)
	if p.login {
		return true
	}
	title := strings.TrimSpace(strings.Join(commandLine, " "))
	for _, mark := range []string{"[net]", "[accepted]", "[preauth]"} {
		if strings.HasSuffix(title, mark) {
			return true
		}
	}
	starting := slices.Contains(commandLine, "-R") || slices.Contains(commandLine, "-i")
	return p.openSSH && (starting || strings.Contains(title, "[listener]"))
}
