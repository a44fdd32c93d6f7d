// SPDX-License-Identifier: Apache-2.0

// Package remotedesktop knows the programs that show a desktop of this machine to other hosts. Anyone
// can give a program such a name: callers must check the file that runs, too.
package remotedesktop

import "slices"

var servers = []string{
	"Xvnc", "Xtigervnc", "Xtightvnc", "x0vncserver", "X0tigervnc", "x11vnc", "wayvnc", "gnome-remote-desktop-daemon", "krfb", "krdpserver", "xrdp",
}

// maxKernelName is how much of a name the kernel keeps (TASK_COMM_LEN of linux/sched.h).
const maxKernelName = 15

// Servers returns the names of the programs.
func Servers() []string { return slices.Clone(servers) }

// Is reports whether a process of this name, of a program or as the kernel has it, shows a desktop.
func Is(name string) bool {
	return slices.ContainsFunc(servers, func(s string) bool { return name == s || name == s[:min(len(s), maxKernelName)] })
}
