// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"

	"sentinel/internal/audit"
	"sentinel/internal/humanize"
	"sentinel/platform/unix/hostfile"
)

func networkChecks() []check {
	return []check{
		{About: audit.About{
			ID: "network.rp_filter", Name: "Forged source addresses dropped", Severity: audit.Medium, Weight: 3,
			Reference:   "CIS 3.3.7, Lynis KRNL-6000",
			Description: "Packets with a forged source address are let in.",
			Formula:     "PASS when the larger of net.ipv4.conf.all.rp_filter and that of each interface but lo is 1 or 2. WARN when it is 0 for one; a rule of the packet filter may do the same.",
		}, Run: rpFilter},
		{About: audit.About{
			ID: "network.syncookies", Name: "SYN cookies", Severity: audit.Medium, Weight: 3,
			Reference:   "CIS 3.3.10, Lynis KRNL-6000",
			Description: "A flood of half-open connections locks everyone out.",
			Formula:     "PASS when net.ipv4.tcp_syncookies is 1 or 2. FAIL when it is 0.",
		}, Run: sysctl{[]string{"net/ipv4/tcp_syncookies"}, atLeast(1), audit.Fail, "net.ipv4.tcp_syncookies = 1"}.run},
		{About: audit.About{
			ID: "network.accept_redirects", Name: "ICMP redirects ignored", Severity: audit.Medium, Weight: 3,
			Reference:   "CIS 3.3.5, Lynis KRNL-6000",
			Description: "A neighbour can lead the traffic of this machine through another one.",
			Formula:     "PASS when no interface accepts redirects, over IPv4 (all and the interface together where it forwards, by its own net.ipv4.conf.IF.forwarding, and either where it does not) or IPv6. WARN otherwise. Loopback does not count.",
		}, Run: acceptRedirects},
		{About: audit.About{
			ID: "network.send_redirects", Name: "No ICMP redirects sent", Severity: audit.Low, Weight: 1,
			Reference:   "CIS 3.3.2, Lynis KRNL-6000",
			Description: "Only a router has reason to redirect others.",
			Formula:     "PASS when on each interface net.ipv4.conf.IF.forwarding is 0, or neither net.ipv4.conf.all.send_redirects nor its own is 1. WARN otherwise.",
		}, Run: sendRedirects},
		{About: audit.About{
			ID: "network.source_route", Name: "Source routes refused", Severity: audit.Medium, Weight: 3,
			Reference:   "CIS 3.3.8, Lynis KRNL-6000",
			Description: "A sender who chooses the route of a packet can avoid the filters on the usual route.",
			Formula:     "PASS when no interface accepts them: for IPv4 all and the interface must both be 1, for IPv6 both above 0 (at 0 the kernel takes the header of Mobile IPv6 alone). FAIL otherwise. Loopback does not count.",
		}, Run: sourceRoute},
		{About: audit.About{
			ID: "network.promiscuous", Name: "No interface listens to all", Severity: audit.Low, Weight: 2, Unusual: true,
			Reference:   "Lynis NETW-3015",
			Description: "Some program reads what is sent to other machines.",
			Formula:     "PASS when no interface of /sys/class/net is promiscuous. WARN otherwise. Ports of a bridge or bond must be and do not count.",
		}, Run: promiscuous},
	}
}

// A perInterface is a rule about a setting that the kernel combines from "all" and
// the interface (Documentation/networking/ip-sysctl.rst).
type perInterface struct {
	version string // "ipv4" or "ipv6"
	name    string
	combine func(all, own int, forwards bool) int // to the value in force on the interface
	good    func(int) bool
}

func largest(all, own int, _ bool) int     { return max(all, own) }
func smallest(all, own int, _ bool) int    { return min(all, own) }
func interfaceOnly(_, own int, _ bool) int { return own }

// received is IN_DEV_RX_REDIRECTS of include/linux/inetdevice.h: an interface that forwards accepts when both are
// set, any other when one is.
func received(all, own int, forwards bool) int {
	if forwards {
		return min(all, own)
	}
	return max(all, own)
}

// sent is IN_DEV_TX_REDIRECTS for what comes in by an interface that forwards; no other sends any.
func sent(all, own int, forwards bool) int {
	if forwards {
		return max(all, own)
	}
	return 0
}

// wrong returns the settings of interfaces that are not good, and how many
// interfaces there are.
func (p perInterface) wrong(m *machine) (list []setting, interfaces int, err error) {
	base := "net/" + p.version + "/conf/"
	all, err := m.settings(base + "all/" + p.name)
	if err != nil || len(all) == 0 {
		return nil, 0, err
	}
	own, err := m.settings(base + "*/" + p.name)
	for _, s := range own {
		forwards, failed := m.settings(path.Dir(s.key) + "/forwarding")
		err = cmp.Or(err, failed)
		if s.value = p.combine(all[0].value, s.value, len(forwards) > 0 && forwards[0].value != 0); !p.good(s.value) {
			list = append(list, s)
		}
	}
	return list, len(own), err
}

// interfaces judges several rules together.
func (m *machine) interfaces(bad audit.Status, set string, rules ...perInterface) audit.Finding {
	var wrong []setting
	interfaces := 0
	for _, p := range rules {
		list, n, err := p.wrong(m)
		if err != nil {
			return audit.Unread("/proc/sys/net", err)
		}
		wrong, interfaces = append(wrong, list...), max(interfaces, n)
	}
	switch {
	case interfaces == 0:
		return audit.NotApplicable("there is no interface but loopback")
	case len(wrong) == 0:
		return audit.Passed("On " + humanize.Count(interfaces, "interface", "interfaces"))
	}
	var lines []string
	for _, s := range wrong {
		lines = append(lines, s.String())
	}
	return audit.Finding{Status: bad, Value: strings.Join(lines[:min(len(lines), 3)], ", "), Evidence: sysctlEvidence(lines), Fix: m.sysctlFix(set)}
}

func rpFilter(_ context.Context, m *machine) audit.Finding {
	return m.interfaces(audit.Warn, "net.ipv4.conf.all.rp_filter = 2",
		perInterface{"ipv4", "rp_filter", largest, atLeast(1)})
}

func acceptRedirects(_ context.Context, m *machine) audit.Finding {
	return m.interfaces(audit.Warn, "net.ipv4.conf.all.accept_redirects = 0, and the same for default and each interface, and for ipv6",
		perInterface{"ipv4", "accept_redirects", received, equalTo(0)},
		perInterface{"ipv6", "accept_redirects", interfaceOnly, equalTo(0)})
}

func sendRedirects(_ context.Context, m *machine) audit.Finding {
	return m.interfaces(audit.Warn, "net.ipv4.conf.all.send_redirects = 0, and the same for default and each interface",
		perInterface{"ipv4", "send_redirects", sent, equalTo(0)})
}

// iffPromisc is IFF_PROMISC (include/uapi/linux/if.h).
const iffPromisc = 0x100

func promiscuous(_ context.Context, m *machine) audit.Finding {
	const directory = "/sys/class/net"
	names, err := m.names(directory, maxInterfaces)
	if hostfile.Missing(err) {
		return audit.Unseen("sysfs is not mounted here")
	}
	if err != nil {
		return audit.Unread(directory, err)
	}
	var open []string
	for _, name := range names {
		if m.exists(directory + "/" + name + "/master") {
			continue
		}
		text, err := m.text(directory + "/" + name + "/flags")
		if hostfile.Missing(err) { // gone since, or a file such as bonding_masters
			continue
		}
		flags, parseErr := strconv.ParseUint(text, 0, 32)
		switch err = cmp.Or(err, parseErr); {
		case err != nil:
			return audit.Unread(directory, err)
		case flags&iffPromisc != 0:
			open = append(open, audit.At(directory+"/"+name+"/flags", 0, text))
		}
	}
	if len(open) > 0 {
		return audit.Warned(humanize.Count(len(open), "interface is", "interfaces are")+" promiscuous", "Find out which program listens: sudo ss --packet --processes", open...)
	}
	return audit.Passed(fmt.Sprintf("None of %d", len(names)))
}

func sourceRoute(_ context.Context, m *machine) audit.Finding {
	return m.interfaces(audit.Fail, "net.ipv4.conf.all.accept_source_route = 0 and net.ipv6.conf.all.accept_source_route = 0",
		perInterface{"ipv4", "accept_source_route", smallest, equalTo(0)},
		perInterface{"ipv6", "accept_source_route", smallest, func(v int) bool { return v <= 0 }})
}
