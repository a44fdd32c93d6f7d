// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"encoding/xml"
	"slices"
	"strings"

	"sentinel/internal/firewall"
	"sentinel/platform/unix/hostfile"
)

// A firewalldZone is a zone of firewalld (firewalld.zone(5)).
type firewalldZone struct {
	Target     string `xml:"target,attr"`
	Interfaces []struct {
		Name string `xml:"name,attr"`
	} `xml:"interface"`
	Sources []struct{} `xml:"source"`
}

// firewalldDenies says whether c is the chain of firewalld, which rejects at its end what no zone accepts, and no
// zone that is in use accepts everything (target): the default one, those with an interface or a source, and those
// that the loaded rules lead to, as NetworkManager has them.
func (m *machine) firewalldDenies(c firewall.Chain, chains []firewall.Chain) bool {
	if c.Table != "firewalld" || c.Family != "inet" || c.Name != "filter_INPUT" {
		return false
	}
	byDefault, ok := m.defaultZone()
	zone, known := m.zone(byDefault)
	if !ok || !known || zone.Target == "ACCEPT" {
		return false
	}
	names, err := m.filesInAll(".xml", zoneFolders...)
	if err != nil {
		return false
	}
	for _, file := range names {
		name := strings.TrimSuffix(file[strings.LastIndexByte(file, '/')+1:], ".xml")
		zone, known := m.zone(name)
		loaded := len(zone.Interfaces) == 0 && leadsToZone(chains, name)
		if !known || zone.Target == "ACCEPT" && (zone.letsOthersIn() || loaded) {
			return false
		}
	}
	return true
}

// zoneFolders have the zones; one in the first hides one of its name.
var zoneFolders = []string{"/etc/firewalld/zones", "/usr/lib/firewalld/zones"}

// defaultZone is that of firewalld.conf(5).
func (m *machine) defaultZone() (name string, ok bool) {
	name = "public"
	raw, err := m.read("/etc/firewalld/firewalld.conf")
	for line := range strings.Lines(string(raw)) {
		if value, set := strings.CutPrefix(strings.TrimSpace(line), "DefaultZone="); set {
			name = strings.TrimSpace(value)
		}
	}
	return name, (err == nil || hostfile.Missing(err)) && name != "" && !strings.ContainsAny(name, "/.")
}

// zone reads a zone; known is false for one that is not there or is no XML.
func (m *machine) zone(name string) (zone firewalldZone, known bool) {
	for _, folder := range zoneFolders {
		raw, err := m.read(folder + "/" + name + ".xml")
		if !hostfile.Missing(err) {
			return zone, err == nil && xml.Unmarshal(raw, &zone) == nil
		}
	}
	return zone, false
}

// bridges begin the names of interfaces behind which are containers and virtual machines of this one, for which
// Docker and libvirt have zones that accept everything.
var bridges = []string{"lo", "docker", "br-", "virbr", "podman", "cni", "lxcbr", "lxdbr", "incusbr", "veth"}

// letsOthersIn says whether other machines may be in a zone.
func (z firewalldZone) letsOthersIn() bool {
	for _, i := range z.Interfaces {
		if !slices.ContainsFunc(bridges, func(b string) bool { return strings.HasPrefix(i.Name, b) && (b != "lo" || i.Name == b) }) {
			return true
		}
	}
	return len(z.Sources) > 0
}

// leadsToZone says whether the rules of firewalld that tell the zones apart have one for a zone.
func leadsToZone(chains []firewall.Chain, zone string) bool {
	return slices.ContainsFunc(chains, func(c firewall.Chain) bool {
		return c.Table == "firewalld" && strings.HasPrefix(c.Name, "filter_INPUT") && slices.Contains(c.Jumps, "filter_IN_"+zone)
	})
}
