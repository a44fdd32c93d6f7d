// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
)

// readers are the programs that only read, whatever follows them.
var readers = []string{
	"/bin/df", "/bin/ps", "/sbin/ifconfig", "/sbin/mount", "/usr/bin/csrutil", "/usr/bin/id", "/usr/bin/sw_vers", "/usr/bin/uname", "/usr/bin/vm_stat",
	"/usr/bin/who", "/usr/sbin/ioreg", "/usr/sbin/lsof", "/usr/sbin/netstat", "/usr/sbin/system_profiler", "/usr/sbin/sysctl",
}

// words are what a command line of another program must hold to only read, and
// must not hold.
var words = map[string]struct{ need, never []string }{
	"/sbin/pfctl":                  {need: []string{"-s", "-sr", "-sn", "-sa", "-sA", "-si", "-vsA", "-vvsA", "show"}, never: []string{"-f", "-F", "-E", "-e", "-d", "-X", "-k", "-K", "add", "delete", "replace", "flush", "kill", "expire", "zero"}},
	"/sbin/route":                  {need: []string{"get"}, never: []string{"add", "delete", "change", "flush"}},
	"/usr/bin/fdesetup":            {need: []string{"status"}},
	"/usr/bin/pmset":               {need: []string{"-g"}},
	"/usr/bin/codesign":            {need: []string{"-d", "--verify"}, never: []string{"-s", "--sign", "-f", "--force", "--remove-signature", "--extract-certificates", "--file-list", "--entitlements"}},
	"/usr/bin/dscl":                {need: []string{"-read"}, never: []string{"-create", "-append", "-merge", "-delete", "-change", "-changei", "-passwd"}},
	"/usr/bin/tmutil":              {need: []string{"listlocalsnapshots"}, never: []string{"deletelocalsnapshots", "thinlocalsnapshots", "localsnapshot", "snapshot", "delete", "disable", "enable", "restore"}},
	"/usr/bin/top":                 {need: []string{"-l"}},
	"/usr/bin/xattr":               {need: []string{"-p"}, never: []string{"-w", "-d", "-c"}},
	"/usr/bin/powermetrics":        {need: []string{"plist", "smc"}, never: []string{"-o", "-u", "--output-file"}},
	"/usr/bin/profiles":            {need: []string{"status", "list", "show"}, never: []string{"remove", "install", "renew"}},
	"/usr/sbin/profiles":           {need: []string{"status", "list", "show"}, never: []string{"remove", "install", "renew"}},
	"/usr/bin/security":            {need: []string{"dump-trust-settings"}},
	"/usr/bin/systemextensionsctl": {need: []string{"list"}},
	"/usr/sbin/diskutil":           {need: []string{"info", "list"}, never: []string{"erase", "mount", "unmount", "eject", "resize"}},
	"/usr/sbin/scutil":             {need: []string{"--dns", "--proxy", "--get"}, never: []string{"--set"}},
	"/usr/sbin/softwareupdate":     {need: []string{"--list", "-l", "--schedule"}, never: []string{"--install", "-i", "-d", "--download", "on", "off"}},
	"/usr/sbin/spctl":              {need: []string{"--status"}},
	"/usr/sbin/sysadminctl":        {need: []string{"status"}, never: []string{"-password", "off", "immediate"}},
	"/usr/sbin/systemsetup":        {need: []string{"-getremotelogin", "-getremoteappleevents", "-getusingnetworktime"}},
	"/bin/launchctl":               {need: []string{"print", "list", "print-disabled"}, never: []string{"kickstart", "bootout", "bootstrap", "kill", "load", "unload", "enable", "disable", "remove"}},
	"/usr/bin/bputil":              {need: []string{"-d"}},
	"/usr/sbin/networksetup":       {need: []string{"-listallhardwareports"}},
	"/usr/sbin/nvram":              {need: []string{"-p", "boot-args", "-xp"}, never: []string{"-d", "-c"}},
}

// whole are command lines that only read as they are.
var whole = []string{
	"/usr/bin/kmutil showloaded --list-only", "/usr/libexec/mdmclient QuerySecurityInfo", "/usr/sbin/cupsctl", "/usr/sbin/firmwarepasswd -check",
	"/usr/sbin/nvram 94b73556-2197-4702-82a8-3e1337dafbfb:AppleSecureBootPolicy", "/usr/sbin/sshd -T",
}

// readsOnly says that running argv changes nothing. What it does not know is taken
// for something that does.
func readsOnly(argv string) bool {
	fields := strings.Fields(argv)
	if len(fields) == 0 || strings.Contains(argv, "=") && fields[0] != "/bin/ps" && fields[0] != "/usr/bin/codesign" {
		return false
	}
	if slices.Contains(whole, argv) {
		return true
	}
	if slices.Contains(readers, fields[0]) {
		return !slices.Contains(fields, "-w") // sysctl -w
	}
	if fields[0] == "/usr/libexec/ApplicationFirewall/socketfilterfw" {
		return !slices.ContainsFunc(fields[1:], func(arg string) bool { return !strings.HasPrefix(arg, "--get") && arg != "--listapps" })
	}
	rule, known := words[fields[0]]
	has := func(list []string) bool {
		return slices.ContainsFunc(list, func(word string) bool { return slices.Contains(fields[1:], word) })
	}
	return known && has(rule.need) && !has(rule.never)
}
