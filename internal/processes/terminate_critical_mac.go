// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"sentinel/internal/sshserver"
	"sentinel/internal/vpn"
)

// macRules are those of macOS. launchd is process 1 and the kernel process 0, which
// have no rule because they have no PID to be ended by. What Apple starts again at once and
// nobody notices, such as cfprefsd, is not among them.
var macRules = []criticalRule{
	{
		names: sshserver.Names(),
		why:   "people reach this machine through it",
	},
	{
		names:    vpn.Daemons(),
		accounts: []string{"nobody"},
		why:      "it carries the packets of a VPN, through which people may reach this machine",
	},
	{
		names: []string{"vpnagentd", "PanGPS", "mullvad-daemon", "nordvpnd", "CloudflareWARP", "warp-svc"},
		why:   "it carries the packets of a VPN, through which people may reach this machine",
	},
	{
		names: []string{"TeamViewer_Service", "AnyDesk", "vncserver", "remoting_me2me_host", "rustdesk"},
		why:   "people reach this machine through it",
	},
	{
		names: []string{"login"},
		why:   "people log in through it, and their sessions end with it",
	},
	{
		names: []string{"screensharingd", "ScreensharingAgent", "AppleVNCServer", "ARDAgent"},
		apple: true,
		why:   "people reach this machine through it",
	},
	{
		names: []string{"WindowServer", "loginwindow", "logind"},
		apple: true,
		why:   "the sessions of everybody who is logged in end with it",
	},
	{
		names: []string{"configd", "mDNSResponder", "airportd", "wifid", "nehelper", "nesessionmanager", "racoon", "pppd", "eapolclient"},
		apple: true,
		why:   "the network of this machine depends on it",
	},
	{
		names: []string{"opendirectoryd", "securityd", "trustd", "authd", "coreauthd", "syspolicyd", "tccd", "amfid", "sandboxd", "endpointsecurityd", "sysextd"},
		apple: true,
		why:   "programs and people are let in by it",
	},
	{
		names: []string{"logd", "syslogd", "auditd", "socketfilterfw", "XprotectService"},
		apple: true,
		why:   "it guards this machine, or keeps the record of what happens on it",
	},
	{
		names: []string{"diskarbitrationd", "fseventsd", "apfsd", "diskmanagementd", "kernelmanagerd", "kextd"},
		apple: true,
		why:   "the storage and the drivers of this machine depend on it",
	},
	{
		names: []string{"notifyd", "UserEventAgent", "runningboardd", "coreservicesd", "launchservicesd", "powerd", "thermalmonitord"},
		apple: true,
		why:   "programs are started, woken and told of events by it",
	},
	{
		names: []string{"watchdogd"},
		apple: true,
		why:   "macOS stops when it ends",
	},
}
