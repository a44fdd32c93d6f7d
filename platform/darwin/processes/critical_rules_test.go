// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"testing"

	"sentinel/internal/processes"
	"sentinel/internal/processes/processestest"
)

func TestCriticalProcesses(t *testing.T) {
	processestest.CheckNames(t, critical)
	processestest.Check(t, critical, nil, []processestest.Case{
		{What: "a program of Apple", Facts: processes.Facts{Name: "logd", Executable: "/usr/libexec/logd"}, SystemFile: true, Critical: true},
		{What: "one that runs as an account", Facts: processes.Facts{Name: "WindowServer", UserID: 88, Executable: "/System/Library/WindowServer"}, SystemFile: true, Critical: true},
		{What: "the scanner of programs", Facts: processes.Facts{Name: "XprotectService", UserID: 501, Executable: "/System/Library/PrivateFrameworks/XprotectFramework.framework/Versions/A/XPCServices/XprotectService.xpc/Contents/MacOS/XprotectService"}, SystemFile: true, Critical: true},
		{What: "a VPN of root", Facts: processes.Facts{Name: "mullvad-daemon", Executable: "/Applications/Mullvad VPN.app/Contents/Resources/mullvad-daemon"}, SystemFile: true, Critical: true},
		{What: "that name of a person", Facts: processes.Facts{Name: "mullvad-daemon", UserID: 501, Executable: "/Users/ana/mullvad-daemon"}, SystemFile: true},
		{What: "the keeper of sessions", Facts: processes.Facts{Name: "logind", Executable: "/System/Library/CoreServices/logind"}, SystemFile: true, Critical: true},
		{What: "a name of Linux on a Mac", Facts: processes.Facts{Name: "polkitd", Executable: "/usr/lib/polkit-1/polkitd"}, SystemFile: true},
		{What: "an SSH server on a Mac", Facts: processes.Facts{Name: "sshd", Executable: "/usr/sbin/sshd"}, SystemFile: true, Critical: true},
	})
}
