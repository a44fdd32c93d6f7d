// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"sentinel/internal/processes"
	"sentinel/internal/sshserver"
	"sentinel/internal/vpn"
)

// Critical implements [processes.TerminationSource].
func (*Terminator) Critical() []processes.CriticalRule { return critical }

// critical has no rule for the kernel, process 0, and launchd, process 1: their
// PIDs are refused in any case. Apple's programs run as root, as accounts of their own and as
// people. Those that launchd starts again at once without anybody noticing, such as cfprefsd,
// are not listed.
var critical = []processes.CriticalRule{
	{
		Names: sshserver.Names(),
		Login: true,
		Why:   "people reach this machine through it",
	},
	{
		Names:    vpn.Daemons(),
		Accounts: []string{"nobody"},
		Why:      "it carries the packets of a VPN, through which people may reach this machine",
	},
	{
		Names: []string{"vpnagentd", "PanGPS", "mullvad-daemon", "nordvpnd", "CloudflareWARP", "warp-svc"},
		Why:   "it carries the packets of a VPN, through which people may reach this machine",
	},
	{
		Names: []string{"TeamViewer_Service", "AnyDesk", "vncserver", "remoting_me2me_host", "rustdesk"},
		Why:   "people reach this machine through it",
	},
	{
		Names: []string{"login"},
		Why:   "people log in through it, and their sessions end with it",
	},
	{
		Names:          []string{"screensharingd", "ScreensharingAgent", "AppleVNCServer", "ARDAgent"},
		OnlySystemFile: true,
		Why:            "people reach this machine through it",
	},
	{
		Names:          []string{"WindowServer", "loginwindow", "logind"},
		OnlySystemFile: true,
		Why:            "the sessions of everybody who is logged in end with it",
	},
	{
		Names:          []string{"configd", "mDNSResponder", "airportd", "wifid", "nehelper", "nesessionmanager", "racoon", "pppd", "eapolclient"},
		OnlySystemFile: true,
		Why:            "the network of this machine depends on it",
	},
	{
		Names:          []string{"opendirectoryd", "securityd", "trustd", "authd", "coreauthd", "syspolicyd", "tccd", "amfid", "sandboxd", "endpointsecurityd", "sysextd"},
		OnlySystemFile: true,
		Why:            "programs and people are let in by it",
	},
	{
		Names:          []string{"logd", "syslogd", "auditd", "socketfilterfw", "XprotectService"},
		OnlySystemFile: true,
		Why:            "it guards this machine, or keeps the record of what happens on it",
	},
	{
		Names:          []string{"diskarbitrationd", "fseventsd", "apfsd", "diskmanagementd", "kernelmanagerd", "kextd"},
		OnlySystemFile: true,
		Why:            "the storage and the drivers of this machine depend on it",
	},
	{
		Names:          []string{"notifyd", "UserEventAgent", "runningboardd", "coreservicesd", "launchservicesd", "powerd", "thermalmonitord"},
		OnlySystemFile: true,
		Why:            "programs are started, woken and told of events by it",
	},
	{
		Names:          []string{"watchdogd"},
		OnlySystemFile: true,
		Why:            "macOS stops when it ends",
	},
}
