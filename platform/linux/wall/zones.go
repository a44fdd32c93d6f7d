// SPDX-License-Identifier: Apache-2.0

package wall

import (
	"bufio"
	"bytes"
	"strings"

	"sentinel/internal/firewall"
)

// A zone is one of firewalld's: a set of rules, and what it is for.
type zone struct {
	name     string
	bound    bool // interfaces or sources belong to it
	target   string
	ports    spans
	services []string
}

// parseZones parses "firewall-offline-cmd --list-all-zones": the name of a zone
// alone in a line, perhaps with "(default, active)", then its properties,
// indented.
func parseZones(b []byte) []zone {
	var zones []zone
	scan := bufio.NewScanner(bytes.NewReader(b))
	for scan.Scan() {
		line := scan.Text()
		if line != "" && line[0] != ' ' && line[0] != '\t' {
			zones = append(zones, zone{name: strings.Fields(line + " ?")[0]})
			continue
		}
		key, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || len(zones) == 0 {
			continue
		}
		zones[len(zones)-1].set(key, strings.Fields(value))
	}
	return zones
}

// set notes one property. The rest of a zone can only let more in.
func (z *zone) set(key string, values []string) {
	switch key {
	case "interfaces", "sources":
		z.bound = z.bound || len(values) > 0
	case "target":
		z.target = strings.Join(values, " ")
	case "services":
		z.services = values
	case "ports":
		for _, v := range values {
			z.ports = append(z.ports, parseSpans(v)...)
		}
	}
}

// admits says whether a zone lets a port in.
func (z zone) admits(p firewall.Port) bool { return z.target == "ACCEPT" || z.ports.has(p) }

// parseService takes the ports out of "--info-service=NAME", which has the form
// of a zone.
func parseService(b []byte) spans {
	var all spans
	for _, z := range parseZones(b) {
		all = append(all, z.ports...)
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
