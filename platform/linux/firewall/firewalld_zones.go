// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"strings"

	"sentinel/internal/firewall"
)

// A zone is one of firewalld's: a set of rules, and what it is for.
type zone struct {
	name     string
	bound    bool // it has interfaces
	sources  bool // it has sources
	target   string
	ports    spans
	services []string
	other    []string // forwarded ports, protocols and rich rules
}

// parseZones parses "firewall-offline-cmd --list-all-zones": the name of a zone
// alone in a line, perhaps with "(default, active)", then its properties,
// indented. Forwarded ports and rich rules have a line each, indented with a tab.
func parseZones(b []byte) []zone {
	var zones []zone
	key := ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\r\n")
		text := strings.TrimSpace(line)
		switch {
		case text == "":
		case line[0] != ' ' && line[0] != '\t':
			zones = append(zones, zone{name: strings.Fields(line)[0]})
			key = ""
		case len(zones) == 0:
		case line[0] == '\t':
			zones[len(zones)-1].set(key, text)
		default:
			name, value, ok := strings.Cut(text, ":")
			if ok {
				key = name
				zones[len(zones)-1].set(key, strings.TrimSpace(value))
			}
		}
	}
	return zones
}

// set notes one property.
func (z *zone) set(key, text string) {
	values := strings.Fields(text)
	switch key {
	case "interfaces":
		z.bound = z.bound || len(values) > 0
	case "sources":
		z.sources = len(values) > 0
	case "target":
		z.target = text
	case "services":
		z.services = values
	case "ports":
		for _, v := range values {
			z.ports = append(z.ports, parseSpans(v)...)
		}
	case "protocols":
		for _, v := range values {
			z.other = append(z.other, protocolText(v))
		}
	case "forward-ports", "rich rules":
		if text != "" {
			z.other = append(z.other, text)
		}
	}
}

// protocolText names a protocol that is let in, as sentinel does.
func protocolText(word string) string {
	if p, ok := firewall.ParseProtocol(word); ok {
		word = p.Protocol
	}
	return "protocol " + word
}

// reached says whether packets can come in through a zone. One that drops or rejects what comes from
// sources alone is there to keep those out.
func (z zone) reached() bool {
	return z.bound || z.sources && z.target != "DROP" && !strings.Contains(z.target, "REJECT")
}

// admits says whether a zone lets a port in.
func (z zone) admits(p firewall.Port) bool { return z.target == "ACCEPT" || z.ports.has(p) }

// parseService takes the ports and protocols out of "--info-service=NAME", which has the form
// of a zone.
func parseService(b []byte) (all zone) {
	for _, z := range parseZones(b) {
		all.ports = append(all.ports, z.ports...)
		all.other = append(all.other, z.other...)
	}
	return all
}

// plainName says whether a name is of the form that firewalld gives zones and
// services; another one is not handed to a program.
func plainName(name string) bool {
	if name == "" || len(name) > 64 || name[0] == '-' {
		return false
	}
	for _, c := range name {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '-' && c != '_' && c != '/' && c != '.' {
			return false
		}
	}
	return true
}
