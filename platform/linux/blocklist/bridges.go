// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sentinel/internal/sanitize"
	"sentinel/platform/unix/hostfile"
)

// maxNamed is how many interfaces a sentence names.
const maxNamed = 3

// unseenBridges says what a packet filter of IP does not see: frames that a bridge hands from one port to another.
// The kernel passes those to it where br_netfilter is loaded and switched on.
func unseenBridges(root string) string {
	bridges := unfiltered(root)
	if len(bridges) == 0 {
		return ""
	}
	return "What passes a bridge of this machine from one port to another is not dropped, as between another host and a virtual machine behind it: net.bridge.bridge-nf-call-iptables and bridge-nf-call-ip6tables are not both 1, for " + someNames(bridges) + "."
}

func someNames(list []string) string {
	names := strings.Join(list[:min(len(list), maxNamed)], ", ")
	if more := len(list) - maxNamed; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return names
}

// unseen is what the packet filter of this machine does not see.
func unseen() string { return strings.TrimSpace(unseenBridges("/") + " " + unseenStacked()) }

// unfiltered lists the bridges with two ports or more whose packets of IPv4 or IPv6 no filter of IP sees.
func unfiltered(root string) []string {
	ports, _ := filepath.Glob(filepath.Join(root, "sys/class/net/*/brif/*")) //nolint:errcheck // the pattern is valid
	count := map[string]int{}
	var list []string
	for _, port := range ports {
		bridge := filepath.Dir(filepath.Dir(port))
		if count[bridge]++; count[bridge] == 2 && !handsOver(root, bridge, "iptables", "ip6tables") {
			list = append(list, sanitize.Text(filepath.Base(bridge), 15))
		}
	}
	slices.Sort(list)
	return list
}

// handsOver says whether a bridge, or all of them, hand their packets to the filters of both families
// (net.bridge of the kernel's Documentation/networking/ip-sysctl.rst, and ip-link(8)).
func handsOver(root, bridge string, families ...string) bool {
	return !slices.ContainsFunc(families, func(family string) bool {
		return !isOne(filepath.Join(root, "proc/sys/net/bridge/bridge-nf-call-"+family)) && !isOne(filepath.Join(bridge, "bridge/nf_call_"+family))
	})
}

func isOne(path string) bool {
	text, err := hostfile.Text(path)
	return err == nil && strings.TrimSpace(text) == "1"
}
