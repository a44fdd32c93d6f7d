// SPDX-License-Identifier: Apache-2.0

package services

import (
	"path"
	"strings"

	"sentinel/internal/fault"
)

// A rule protects the services whose name, less its suffix, matches a pattern of
// path.Match.
type rule struct {
	pattern string
	why     string // ends "NAME is protected: ..."
	lifts   bool   // by force
}

const (
	filter  = "it decides who reaches this machine, and its start does not look after remote sessions"
	session = "the session of whoever asks may depend on it"
	ends    = "it ends the system, puts it to sleep or opens a shell of root on it"
	people  = "it is the session of a person"
)

// systemdRules are looked at in turn; the first that matches decides. What force lifts
// can cut a session; what it does not lift ends the system or belongs to its manager.
// Those of systemd that force lifts come back by themselves and end nothing.
var systemdRules = []rule{
	{"ssh", session, true}, {"sshd", session, true}, {"ssh@*", session, true}, {"sshd@*", session, true}, {"sshd-unix-*", session, true}, {"sshd-vsock@*", session, true}, {"dropbear*", session, true},
	{"dbus", session, true}, {"dbus-broker", session, true}, {"dbus-daemon", session, true}, {"messagebus", session, true},
	{"systemd-logind", session, true}, {"elogind", session, true},
	{"NetworkManager", session, true}, {"systemd-networkd", session, true}, {"networking", session, true}, {"network", session, true},
	{"wpa_supplicant*", session, true}, {"iwd", session, true}, {"dhcpcd*", session, true}, {"dhclient*", session, true}, {"ifup@*", session, true},
	{"connman", session, true}, {"wicked*", session, true},
	{"openvpn*", session, true}, {"wg-quick@*", session, true}, {"tailscaled", session, true}, {"strongswan*", session, true}, {"ipsec", session, true},
	{"firewalld", filter, true}, {"ufw", filter, true}, {"nftables", filter, true}, {"iptables", filter, true}, {"ip6tables", filter, true},
	{"netfilter-persistent", filter, true}, {"shorewall*", filter, true}, {"ferm", filter, true}, {"ipset", filter, true},
	{"display-manager", session, true}, {"gdm", session, true}, {"gdm3", session, true}, {"sddm", session, true}, {"lightdm", session, true},
	{"lxdm", session, true}, {"xdm", session, true}, {"wdm", session, true}, {"kdm", session, true}, {"nodm", session, true}, {"slim", session, true},
	{"greetd", session, true}, {"ly", session, true},

	{"systemd-*", "it is a part of the service manager", false},
	{"user@*", people, false}, {"user-runtime-dir@*", people, false}, {"session*", people, false},
	{"rescue", ends, false}, {"rescue-*", ends, false}, {"rescue@*", ends, false},
	{"emergency", ends, false}, {"emergency-*", ends, false}, {"emergency@*", ends, false},
	{"debug", ends, false}, {"debug-*", ends, false}, {"debug@*", ends, false},
	{"poweroff*", ends, false}, {"reboot*", ends, false}, {"halt", ends, false}, {"halt-*", ends, false}, {"kexec*", ends, false}, {"soft-reboot*", ends, false},
	{"shutdown*", ends, false}, {"*-shutdown", ends, false}, {"suspend*", ends, false}, {"hibernate*", ends, false}, {"hybrid-sleep*", ends, false},
	{"quotaon*", "it belongs to the start of the system", false}, {"initrd*", "it belongs to the start of the system", false}, {"plymouth*", "it belongs to the start and the end of the system", false},
}

// endings are the targets that end the system, put it to sleep or leave little
// of it running (systemd.special(7)).
var endings = []string{
	"poweroff", "reboot", "halt", "kexec", "soft-reboot", "exit", "shutdown", "umount", "final", "rescue", "emergency", "ctrl-alt-del",
	"suspend", "hibernate", "hybrid-sleep", "suspend-then-hibernate", "sleep", "factory-reset*", "storage-target-mode", "system-update*",
	"initrd*", "runlevel[016]", "sigpwr", "kbrequest",
}

// early are the targets that every service needs: to stop one is to stop all.
var early = []string{"sysinit.target", "basic.target", "local-fs.target", "sockets.target", "paths.target", "timers.target", "slices.target", "swap.target", "cryptsetup.target"}

// ruleOf returns the rule that protects a service, or nil.
func ruleOf(h House, name string) *rule {
	bare, rules := h.bare(name), h.rules()
	for i := range rules {
		if matches(rules[i].pattern, bare) {
			return &rules[i]
		}
	}
	return nil
}

// final says whether a service may never be restarted.
func final(h House, name string) bool {
	r := ruleOf(h, name)
	return r != nil && !r.lifts
}

// ending says whether starting a unit ends the system or most of it.
func ending(name string) bool {
	if bare, ok := strings.CutSuffix(name, ".target"); ok {
		return anyMatches(endings, bare)
	}
	bare, ok := strings.CutSuffix(name, suffix)
	if !ok {
		return false
	}
	if r := ruleOf(Systemd, name); r != nil && r.why == ends {
		return true
	}
	bare, ok = strings.CutPrefix(bare, "systemd-")
	return ok && anyMatches(endings, bare)
}

func anyMatches(patterns []string, name string) bool {
	for _, pattern := range patterns {
		if matches(pattern, name) {
			return true
		}
	}
	return false
}

// matches takes a pattern that is none for the name that it is: it comes from
// the configuration.
func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok || err != nil && pattern == name
}

// protectNames refuses by name. It looks at every name of the unit, so that an
// alias protects no less than the real one.
func protectNames(h House, u Unit, asked string, o Options) error {
	if u.Foreign && !o.Force {
		return refusal(u.Name, "it is a service of another person", true)
	}
	for _, name := range append([]string{asked, u.Name}, u.Names...) {
		if r := ruleOf(h, name); r != nil && (!r.lifts || !o.Force) {
			return refusal(u.Name, r.why, r.lifts)
		}
		for _, pattern := range o.Protected {
			if matches(h.bare(pattern), h.bare(name)) && !o.Force {
				return refusal(u.Name, "the configuration of this machine says so", true)
			}
		}
	}
	return nil
}

// refusal says why a service is protected, and what to do about it.
func refusal(name, why string, lifts bool) error {
	e := fault.New(fault.ProtectedService, name+" is protected: "+why+".")
	if lifts {
		return e.WithFix("A person who can reach the machine when the session is cut may restart it with: sudo sentinel --restart-service " + name + " --force")
	}
	return e.WithFix("Leave it alone; nothing lifts this protection.")
}
