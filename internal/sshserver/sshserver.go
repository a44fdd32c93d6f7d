// SPDX-License-Identifier: Apache-2.0

// Package sshserver knows the SSH servers by their process names. Anyone can give a
// program such a name: callers must check the user too.
package sshserver

import (
	"slices"
	"strings"
)

type program struct {
	name    string
	listens bool // accepts new connections; the others serve one that was passed to them
	login   bool // runs only until its client has logged in
	openSSH bool
}

// programs lists the programs. OpenSSH has a separate program for sessions since
// 9.8 (macOS 15) and one for logins since 10.0 (macOS 26).
var programs = []program{
	{name: "sshd", listens: true, openSSH: true},
	{name: "sshd-session", openSSH: true},
	{name: "sshd-auth", openSSH: true, login: true},
	{name: "dropbear", listens: true},
}

// Names returns the process names of SSH servers.
func Names() []string {
	names := make([]string, len(programs))
	for i, p := range programs {
		names[i] = p.name
	}
	return names
}

// Is reports whether processes of this name belong to an SSH server.
func Is(name string) bool { return find(name).name != "" }

// Listens reports whether processes of this name accept new connections. A port at
// which one of the other processes listens was forwarded by its client.
func Listens(name string) bool { return find(name).listens }

func find(name string) program {
	if i := slices.IndexFunc(programs, func(p program) bool { return p.name == name }); i >= 0 {
		return programs[i]
	}
	return program{}
}

// Titled reports whether the command lines of processes of this name tell who has logged in, as [AwaitsLogin]
// reads them.
func Titled(name string) bool { return find(name).openSSH }

// AwaitsLogin reports whether a process serves a client that has not logged in yet.
// sshd rewrites its command line: it ends with "[net]" in the unprivileged process
// that talks to the client before the login; earlier, it ends with "[accepted]" or
// still has the option -R or -i. "[listener]" marks the server itself, which hands
// connections on. Dropbear does not rewrite its command line, where -R and -i mean
// something else.
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
