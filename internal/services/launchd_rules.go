// SPDX-License-Identifier: Apache-2.0

package services

const (
	names    = "programs look up users, hosts and rights through it"
	integral = "it is a part of macOS that nothing else does the work of"
)

// launchdRules protect jobs by their labels. macOS refuses to restart most of its
// own jobs since version 14.4, and all that System Integrity Protection guards; the rules are
// for those that are older, and for what others install. What force lifts can cut a session.
var launchdRules = []rule{
	{"com.openssh.sshd*", session, true}, {"homebrew.mxcl.dropbear*", session, true}, {"com.apple.screensharing*", session, true}, {"com.apple.RemoteDesktop*", session, true},
	{"com.apple.loginwindow*", session, true}, {"com.apple.logind*", session, true}, {"com.apple.WindowServer*", session, true}, {"com.apple.windowserver*", session, true},
	{"com.apple.configd*", session, true}, {"com.apple.networkd*", session, true}, {"com.apple.nehelper*", session, true}, {"com.apple.nesessionmanager*", session, true},
	{"com.apple.wifid*", session, true}, {"com.apple.airport*", session, true}, {"com.apple.racoon*", session, true}, {"com.apple.pppd*", session, true},
	{"com.tailscale.*", session, true}, {"homebrew.mxcl.tailscale*", session, true}, {"io.tailscale.*", session, true}, {"com.wireguard.*", session, true},
	{"homebrew.mxcl.wireguard*", session, true}, {"org.openvpn*", session, true}, {"net.openvpn.*", session, true}, {"homebrew.mxcl.openvpn*", session, true},
	{"com.cloudflare.*", session, true}, {"homebrew.mxcl.cloudflare*", session, true}, {"com.zerotier.*", session, true}, {"com.cisco.*", session, true},
	{"com.paloaltonetworks.gp.*", session, true}, {"com.nordvpn.*", session, true}, {"io.netbird.*", session, true}, {"netbird*", session, true},
	{"net.mullvad.*", session, true}, {"ch.protonvpn.*", session, true}, {"com.expressvpn.*", session, true}, {"com.privateinternetaccess.*", session, true},
	{"com.fortinet.*", session, true}, {"com.zscaler.*", session, true}, {"com.checkpoint.*", session, true},
	{"com.teamviewer.*", session, true}, {"com.philandro.anydesk*", session, true}, {"com.realvnc.*", session, true}, {"org.chromium.chromoting*", session, true}, {"com.carriez.*", session, true},
	{"com.apple.alf*", filter, true}, {"com.apple.pfctl*", filter, true}, {"com.apple.pf*", filter, true}, {"com.objective-see.lulu*", filter, true}, {"at.obdev.littlesnitch*", filter, true},
	{"com.apple.mDNSResponder*", names, true}, {"com.apple.opendirectoryd*", names, true}, {"com.apple.securityd*", names, true}, {"com.apple.trustd*", names, true},
	{"com.apple.coreauthd*", names, true}, {"com.apple.authd*", names, true}, {"com.apple.syspolicyd*", names, true}, {"com.apple.tccd*", names, true},

	{"application.*", "it is an application that a person has open", false},
	{"com.apple.xpc.*", "it is a part of the service manager", false}, {"com.apple.launchd*", "it is a part of the service manager", false},
	{"com.apple.UserEventAgent*", "it is a part of the service manager", false}, {"com.apple.runningboardd*", "it is a part of the service manager", false},
	{"com.apple.watchdogd*", "macOS stops when it ends", false}, {"com.apple.kernelmanagerd*", integral, false}, {"com.apple.kextd*", integral, false},
	{"com.apple.logd*", integral, false}, {"com.apple.notifyd*", integral, false}, {"com.apple.diskarbitrationd*", integral, false}, {"com.apple.apfsd*", integral, false},
	{"com.apple.fseventsd*", integral, false}, {"com.apple.powerd*", integral, false}, {"com.apple.cfprefsd*", integral, false}, {"com.apple.coreservicesd*", integral, false}, {"com.apple.coreservices.launchservicesd*", integral, false},
	{"com.apple.endpointsecurity*", integral, false}, {"com.apple.sysextd*", integral, false}, {"com.apple.amfid*", integral, false}, {"com.apple.sandboxd*", integral, false},
}
