// SPDX-License-Identifier: Apache-2.0

package services

import (
	"slices"

	"sentinel/internal/services"
)

const (
	session  = "the session of whoever asks may depend on it"
	firewall = "it decides who reaches this machine, and its start does not look after remote sessions"
	lookups  = "programs look up users, hosts and rights through it"
	integral = "it is a part of macOS that nothing else does the work of"
)

// rules protect jobs by their labels. macOS refuses to restart most of its
// own jobs since version 14.4, and all that System Integrity Protection guards; the rules are
// for those that are older, and for what others install. What force lifts can cut a session.
var rules = slices.Concat(
	services.Liftable(session,
		"com.openssh.sshd*", "homebrew.mxcl.dropbear*", "com.apple.screensharing*", "com.apple.RemoteDesktop*", "com.apple.loginwindow*",
		"com.apple.logind*", "com.apple.WindowServer*", "com.apple.windowserver*", "com.apple.configd*", "com.apple.networkd*",
		"com.apple.nehelper*", "com.apple.nesessionmanager*", "com.apple.wifid*", "com.apple.airport*", "com.apple.racoon*", "com.apple.pppd*",
		"com.tailscale.*", "homebrew.mxcl.tailscale*", "io.tailscale.*", "com.wireguard.*", "homebrew.mxcl.wireguard*", "org.openvpn*",
		"net.openvpn.*", "homebrew.mxcl.openvpn*", "com.cloudflare.*", "homebrew.mxcl.cloudflare*", "com.zerotier.*", "com.cisco.*",
		"com.paloaltonetworks.gp.*", "com.nordvpn.*", "io.netbird.*", "netbird*", "net.mullvad.*", "ch.protonvpn.*", "com.expressvpn.*",
		"com.privateinternetaccess.*", "com.fortinet.*", "com.zscaler.*", "com.checkpoint.*", "com.teamviewer.*", "com.philandro.anydesk*",
		"com.realvnc.*", "org.chromium.chromoting*", "com.carriez.*",
	),
	services.Liftable(firewall, "com.apple.alf*", "com.apple.pfctl*", "com.apple.pf*", "com.objective-see.lulu*", "at.obdev.littlesnitch*"),
	services.Liftable(lookups,
		"com.apple.mDNSResponder*", "com.apple.opendirectoryd*", "com.apple.securityd*", "com.apple.trustd*", "com.apple.coreauthd*",
		"com.apple.authd*", "com.apple.syspolicyd*", "com.apple.tccd*",
	),
	services.Final("it is an application that a person has open", "application.*"),
	services.Final("it is a part of the service manager", "com.apple.xpc.*", "com.apple.launchd*", "com.apple.UserEventAgent*", "com.apple.runningboardd*"),
	services.Final("macOS stops when it ends", "com.apple.watchdogd*"),
	services.Final(integral,
		"com.apple.kernelmanagerd*", "com.apple.kextd*", "com.apple.logd*", "com.apple.notifyd*", "com.apple.diskarbitrationd*", "com.apple.apfsd*",
		"com.apple.fseventsd*", "com.apple.powerd*", "com.apple.cfprefsd*", "com.apple.coreservicesd*", "com.apple.coreservices.launchservicesd*",
		"com.apple.endpointsecurity*", "com.apple.sysextd*", "com.apple.amfid*", "com.apple.sandboxd*",
	),
)
