// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"strings"

	"sentinel/internal/audit"
	"sentinel/platform/unix/hostfile"
)

const snmpConfig = "/etc/snmp/snmpd.conf"

func snmpCommunity(_ context.Context, m *machine) audit.Finding {
	raw, err := m.read(snmpConfig)
	if hostfile.Missing(err) {
		return audit.NotApplicable("snmpd is not here")
	}
	if err != nil {
		return audit.Unread(snmpConfig, err)
	}
	wrong := easyCommunities(string(raw))
	if len(wrong) > 0 {
		return audit.Failed("A community that everyone knows", "Use SNMP version 3 with a user (net-snmp-create-v3-user), or another community; then: sudo systemctl restart snmpd", wrong...)
	}
	return audit.Passed("None that everyone knows")
}

// easyCommunities returns the lines of snmpd.conf(5) with a well-known community
// (rocommunity COMMUNITY [SOURCE], com2sec NAME SOURCE COMMUNITY), without those that are for this
// host alone.
func easyCommunities(text string) []string {
	var wrong []string
	n := 0
	for line := range strings.Lines(text) {
		n++
		f := strings.Fields(line)
		if len(f) < 2 || strings.HasPrefix(f[0], "#") {
			continue
		}
		community, source := "", ""
		switch f[0] {
		case "rocommunity", "rwcommunity", "rocommunity6", "rwcommunity6":
			community, source = f[1], strings.Join(f[2:], " ")
		case "com2sec", "com2sec6":
			community, source = f[len(f)-1], strings.Join(f[1:len(f)-1], " ")
		}
		if (community == "public" || community == "private") && !strings.Contains(source, "localhost") && !strings.Contains(source, "127.0.0.1") {
			wrong = append(wrong, audit.At(snmpConfig, n, strings.TrimSpace(line)))
		}
	}
	return wrong
}
