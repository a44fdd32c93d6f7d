// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"

	"sentinel/internal/audit"
	"sentinel/platform/darwin/pfctl"
	"sentinel/platform/darwin/posture"
	"sentinel/platform/darwin/socketfilterfw"
)

func firewallChecks() []check {
	return []check{
		{About: audit.About{
			ID: "firewall.active", Name: "Application Firewall", Severity: audit.High, Weight: 9,
			Reference:   "mSCP system_settings_firewall_enable",
			Description: "Without it, everyone on the network can reach every program that listens.",
			Formula:     "PASS when socketfilterfw says that the firewall is on, or blocks all. FAIL when it is off. Whether pf filters as well is in firewall.packet_filter.",
		}, Run: firewallActive},
		{About: audit.About{
			ID: "firewall.stealth", Name: "Stealth mode", Severity: audit.Low, Weight: 2,
			Reference:   "mSCP system_settings_firewall_stealth_mode_enable",
			Description: "Whoever scans the network can find a Mac that answers probes.",
			Formula:     "PASS when stealth mode is on. WARN when it is off. Does not apply while the firewall is off.",
		}, Run: firewallStealth},
		{About: audit.About{
			ID: "firewall.signed", Name: "Signed programs allowed without asking", Severity: audit.Low, Weight: 1,
			Reference:   "mSCP os_firewall_default_deny_require",
			Description: "Any downloaded program with a signature may accept connections, and nobody is asked.",
			Formula:     "PASS when the firewall blocks all connections, or does not allow downloaded programs because they are signed. WARN when it does, which is the default. Does not apply while the firewall is off.",
		}, Run: firewallSigned},
		{About: audit.About{
			ID: "firewall.packet_filter", Name: "Packet filter pf", Severity: audit.Low, Weight: 1,
			Reference:   "mSCP supplemental_firewall_pf",
			Description: "The Application Firewall filters by program; only pf filters by address.",
			Formula:     "PASS when pfctl says that pf is enabled. WARN when it is not, which is the default of macOS. Needs root.",
		}, Run: packetFilter},
	}
}

// applicationFirewall reads its state, once.
func (m *machine) applicationFirewall(ctx context.Context) (socketfilterfw.State, error) {
	return m.filter.Get(func() (socketfilterfw.State, error) {
		if m.Runner == nil {
			return socketfilterfw.State{}, posture.ErrNotLive
		}
		return socketfilterfw.New(m.Runner).State(ctx)
	})
}

const (
	socketfilter = "the Application Firewall"
	firewallOff  = "the firewall is off"
)

func firewallActive(ctx context.Context, m *machine) audit.Finding {
	s, err := m.applicationFirewall(ctx)
	switch {
	case err != nil:
		return audit.Unread(socketfilter, err)
	case s.Global == socketfilterfw.GlobalUnknown:
		return audit.Unread(socketfilter, errUnknownOutput)
	case s.BlocksAll() && s.On():
		return audit.Passed("On, and blocks all connections that come in")
	case s.On():
		return audit.Passed("On")
	default:
		return audit.Failed("Off", "See what it would close, then leave out --dry-run: sudo sentinel --fix-firewall --dry-run", "socketfilterfw --getglobalstate: State = 0")
	}
}

func firewallStealth(ctx context.Context, m *machine) audit.Finding {
	s, err := m.applicationFirewall(ctx)
	switch {
	case err != nil:
		return audit.Unread(socketfilter, err)
	case s.Global == socketfilterfw.GlobalOff:
		return audit.NotApplicable(firewallOff)
	case s.Stealth == nil:
		return audit.Unread(socketfilter, errUnknownOutput)
	case *s.Stealth:
		return audit.Passed("On")
	default:
		return audit.Warned("Off", "sudo "+socketfilterfw.Program+" --setstealthmode on", "socketfilterfw --getstealthmode: off")
	}
}

func firewallSigned(ctx context.Context, m *machine) audit.Finding {
	s, err := m.applicationFirewall(ctx)
	switch {
	case err != nil:
		return audit.Unread(socketfilter, err)
	case s.Global == socketfilterfw.GlobalOff:
		return audit.NotApplicable(firewallOff)
	case s.BlocksAll():
		return audit.Passed("All connections that come in are blocked")
	case s.AllowSignedApp == nil:
		return audit.Unread(socketfilter, errUnknownOutput)
	case *s.AllowSignedApp:
		return audit.Warned("Downloaded programs that are signed", "sudo "+socketfilterfw.Program+" --setallowsignedapp off", "socketfilterfw --getallowsigned: downloaded signed software is let in")
	default:
		return audit.Passed("None that were downloaded")
	}
}

func packetFilter(ctx context.Context, m *machine) audit.Finding {
	if m.Runner == nil {
		return audit.Unread("pf", posture.ErrNotLive)
	}
	on, err := pfctl.New(m.Runner).Enabled(ctx)
	switch {
	case err != nil:
		return audit.Unread("pf", err)
	case on:
		return audit.Passed("Enabled")
	default:
		return audit.Warned("Disabled", "sentinel switches pf on with the first address it blocks: sudo sentinel --block-ip ADDRESS", "pfctl -s info: Status: Disabled")
	}
}
