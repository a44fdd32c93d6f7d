// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"fmt"
	"slices"
	"strings"

	"sentinel/internal/answer"
	"sentinel/internal/sanitize"
)

// maxUnread caps how many rules are named that were not taken into account.
const maxUnread = 5

// maxPortsNamed caps how many ports a sentence names; allowed_ports has all.
const maxPortsNamed = 20

// Summary describes what Do would do, in one or two sentences.
func (e *Enabling) Summary() string {
	switch {
	case e.confirm:
		return "The firewall that is on trial (" + e.result.Manager + ") would be confirmed and stay on."
	case e.trial != nil:
		return fmt.Sprintf("%s is on trial already. Nothing would be changed. %s", e.result.Manager, e.trial.howToConfirm(e.result.ConfirmWithin))
	case e.before.State == Active:
		return "The firewall is on already: " + e.before.Evidence + ". Nothing would be changed." + e.another()
	}
	return fmt.Sprintf("%s would be switched on%s. %s %s", e.name(), e.forTrial("off"), e.allowed("would be"), e.closing("would become")) + e.note
}

// unreadRules returns a sentence about the rules that closes ignores.
func unreadRules(manager string, rules []string) string {
	if len(rules) == 0 {
		return ""
	}
	more := ""
	if len(rules) > maxUnread {
		rules, more = rules[:maxUnread], " and more"
	}
	return sanitize.Text(" What these rules of "+manager+" let in or deny was not looked at: "+strings.Join(rules, "; ")+more+".", 400)
}

// untracked returns a sentence about rules that turn connection tracking off: all managers let answers in by
// what it knows of the question. Sessions come in by their port, tracked or not.
func (f Facts) untracked() string {
	for _, c := range f.Chains {
		if slices.ContainsFunc(c.Rules, func(r Rule) bool { return r.Untracks }) {
			return sanitize.Text(" Rules of "+c.title()+" turn connection tracking off for some packets, or may do so: what other hosts answer to such packets, as to queries of a DNS server, is dropped then.", 400)
		}
	}
	return ""
}

// rulesThatStay says which rules go on to shut sessions out that programs of users serve.
func rulesThatStay(kept []string) string {
	if len(kept) == 0 {
		return ""
	}
	if more := len(kept) - maxCarriers; more > 0 {
		kept = append(kept[:maxCarriers], fmt.Sprintf("%d more", more))
	}
	return sanitize.Text(" What denies goes on to do so: "+strings.Join(kept, "; ")+".", 500)
}

// name begins a sentence.
func (e *Enabling) name() string { return backendName(e.manager.Name()) }

func backendName(name string) string {
	switch name {
	case Nftables:
		return "A rule set of sentinel's own in nftables"
	case ApplicationFirewall:
		return "The Application Firewall"
	default:
		return name
	}
}

// allowed returns sentences about the ports of remote sessions, those that programs of users serve last,
// and those that are kept open.
func (e *Enabling) allowed(were string) string {
	var remote, kept []Port
	for _, p := range e.result.AllowedPorts {
		if slices.Contains(e.remotePorts, p) {
			remote = append(remote, p)
		} else {
			kept = append(kept, p)
		}
	}
	slices.SortStableFunc(remote, func(a, b Port) int { return answer.TrueFirst(e.indexAmongUsers(a) < 0, e.indexAmongUsers(b) < 0) })
	text := e.remoteSessions(remote, were)
	if len(kept) > 0 {
		text += fmt.Sprintf(" Kept open: %s.", someOf(kept, maxPortsNamed))
	}
	return text
}

func (e *Enabling) remoteSessions(allowed []Port, were string) string {
	switch {
	case len(e.remotePorts) == 0:
		return "No server for remote sessions was found, so no port is let in for one."
	case len(allowed) == 0:
		return "No port of remote sessions is let in for everyone."
	case e.app != nil:
		return fmt.Sprintf("Remote sessions by %s are let in as before, and open ones go on.", someOf(allowed, maxPortsNamed))
	}
	unless := ""
	if e.drops {
		unless = " unless a rule of " + e.manager.Name() + " drops them"
	}
	return fmt.Sprintf("The ports of remote sessions (%s) %s let in first; open connections go on%s.", someOf(allowed, maxPortsNamed), were, unless)
}

// closing returns a sentence about the sockets that become unreachable, and on macOS another about
// effects that cannot be predicted.
func (e *Enabling) closing(become string) string {
	if e.app != nil {
		if e.result.ClosesTotal == 0 {
			return "No rule of it shuts a service out. " + e.app.unlisted()
		}
		return e.closed(become) + " " + e.app.unlisted()
	}
	return e.closed(become)
}

func (e *Enabling) closed(become string) string {
	switch n := e.result.ClosesTotal; n {
	case 0:
		return "No other service loses its reach."
	case 1:
		return fmt.Sprintf("One other service %s unreachable from other hosts.", become)
	default:
		return fmt.Sprintf("%d other services %s unreachable from other hosts.", n, become)
	}
}

// outlook returns a sentence about the next boot, and about changing a rule set that has no other
// tool.
func outlook(manager string, lasting bool, remark string) string {
	text := strings.TrimSpace("It comes back after a reboot. " + remark)
	if !lasting {
		text = "It does not come back after a reboot: " + remark + "."
	}
	if manager == Nftables {
		text += " Its ports are in /var/lib/sentinel/firewall.json. An administrator lets more in with sudo sentinel --allow-service PORT, and switches it off with sudo sentinel --disable-firewall."
	}
	return text
}

// another returns a sentence about allowing one more port with the owner's own tool.
func (e *Enabling) another() string {
	example := Port{Number: 8080, Protocol: "tcp"}
	if len(e.result.Closes) > 0 {
		example = e.result.Closes[0].Port
	}
	switch e.result.Manager {
	case UFW:
		return fmt.Sprintf(" To let another port in: sudo ufw allow %s.", example)
	case ApplicationFirewall:
		return " To let another program in: System Settings, Network, Firewall, Options."
	case Firewalld:
		return fmt.Sprintf(" To let another port in: sudo firewall-cmd --permanent --add-port=%s, then sudo firewall-cmd --reload.", example)
	default:
		return ""
	}
}
