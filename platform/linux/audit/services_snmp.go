// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"context"
	"slices"
	"strings"

	"sentinel/internal/audit"
	"sentinel/platform/unix/hostfile"
)

const (
	snmpConfig = "/etc/snmp/snmpd.conf"
	snmpFolder = "/etc/snmp/snmpd.conf.d" // Debian's file includes it
)

func snmpCommunity(_ context.Context, m *machine) audit.Finding {
	if !m.exists(snmpConfig) {
		return audit.NotApplicable("snmpd is not here")
	}
	more, err := m.names(snmpFolder, maxNames)
	if err != nil && !hostfile.Missing(err) {
		return audit.Unread(snmpFolder, err)
	}
	files := []string{snmpConfig, "/etc/snmp/snmpd.local.conf"}
	for _, name := range more {
		if strings.HasSuffix(name, ".conf") {
			files = append(files, snmpFolder+"/"+name)
		}
	}
	var wrong []string
	for _, file := range files {
		text, err := m.optionalText(file)
		if err != nil {
			return audit.Unread(file, err)
		}
		wrong = append(wrong, easyCommunities(file, text)...)
	}
	if len(wrong) > 0 {
		return audit.Failed("A community that everyone knows", "Use SNMP version 3 with a user (net-snmp-create-v3-user), or another community; then: sudo systemctl restart snmpd", wrong...)
	}
	return audit.Passed("None that everyone knows")
}

// easyCommunities returns the lines of snmpd.conf(5) with a well-known community
// (rocommunity COMMUNITY [SOURCE], com2sec NAME SOURCE COMMUNITY), without those that are for this
// host alone. snmpd reads the first word in any case, and the others with or without quotes.
func easyCommunities(file, text string) []string {
	var wrong []string
	n := 0
	for line := range strings.Lines(text) {
		n++
		f := strings.Fields(strings.NewReplacer(`"`, "", "'", "").Replace(line))
		if len(f) < 2 {
			continue
		}
		community, source := "", ""
		switch strings.ToLower(f[0]) {
		case "rocommunity", "rwcommunity", "rocommunity6", "rwcommunity6":
			community, source = f[1], strings.Join(f[2:min(3, len(f))], "")
		case "com2sec", "com2sec6":
			community, source = f[len(f)-1], f[len(f)-2]
		}
		if (community == "public" || community == "private") && !slices.Contains(thisHost, source) {
			wrong = append(wrong, audit.At(file, n, strings.TrimSpace(line)))
		}
	}
	return wrong
}

// thisHost are the sources that no other host has.
var thisHost = []string{"localhost", "127.0.0.1", "127.0.0.1/32", "127.0.0.0/8", "::1", "::1/128"}
