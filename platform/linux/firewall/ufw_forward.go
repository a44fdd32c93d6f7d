// SPDX-License-Identifier: Apache-2.0

//go:build linux

package firewall

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sentinel/platform/unix/hostfile"
)

// forwardChains are the chains FORWARD whose policy ufw sets, with the programs that it sets them with.
// Whether these are of nftables or of x_tables is the administrator's choice, so no others are asked.
var forwardChains = []struct {
	family   string // as nftables calls it
	programs []string
}{
	{"ip", []string{"/usr/sbin/iptables", "/sbin/iptables"}},
	{"ip6", []string{"/usr/sbin/ip6tables", "/sbin/ip6tables"}},
}

// xtablesWait is how many seconds iptables waits for another run that has its lock.
const xtablesWait = "5"

// forwardDropped returns the families of which nothing is forwarded that no rule lets through. Where
// ip6tables does not work, ufw does without it.
func (m *Manager) forwardDropped(ctx context.Context) ([]string, error) {
	var families []string
	for _, f := range forwardChains {
		out, err := m.runXTables(ctx, f.programs, "-S", "FORWARD")
		if err != nil && f.family != "ip6" {
			return nil, fmt.Errorf("read what is forwarded: %w", err)
		}
		if first, _, _ := strings.Cut(string(out), "\n"); strings.TrimSpace(first) == "-P FORWARD DROP" {
			families = append(families, f.family)
		}
	}
	return families, nil
}

// dropForwarded makes it so again. The policies of the other chains are left: ufw may have removed the
// rules that let sessions through.
func (m *Manager) dropForwarded(ctx context.Context, families []string) error {
	var failed []error
	for _, f := range forwardChains {
		if slices.Contains(families, f.family) {
			_, err := m.runXTables(ctx, f.programs, "-P", "FORWARD", "DROP")
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// runXTables runs the program that is installed. Without one, ufw does nothing either.
func (m *Manager) runXTables(ctx context.Context, programs []string, args ...string) ([]byte, error) {
	i := slices.IndexFunc(programs, m.installed)
	if i < 0 {
		return nil, nil
	}
	return m.run(ctx, askLimit, programs[i], append([]string{"-w", xtablesWait}, args...)...)
}

// forwards says whether the kernel forwards packets of any interface (ip_sysctl of the kernel).
func forwards(root string) bool {
	for _, pattern := range []string{"proc/sys/net/ipv4/conf/*/forwarding", "proc/sys/net/ipv6/conf/*/forwarding"} {
		settings, err := filepath.Glob(filepath.Join(root, pattern))
		on := func(path string) bool {
			text, err := hostfile.Text(path)
			return err == nil && strings.TrimSpace(text) != "0"
		}
		if err == nil && slices.ContainsFunc(settings, on) {
			return true
		}
	}
	return false
}
