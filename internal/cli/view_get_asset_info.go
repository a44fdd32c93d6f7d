// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"sentinel/internal/assets"
	"sentinel/internal/humanize"
)

func (d assetDocument) view(p *page) {
	a := d.Asset
	p.verdict(calm, "ASSET", fmt.Sprintf("%s is %s with %s.", known(a.Hostname), machineText(a), known(strings.TrimSpace(a.OS.Name+" "+a.OS.Version))))
	if !p.verbose {
		p.facts(slices.Concat(assetOverview(a), assetSummaries(a), p.unknown(d.Unavailable)))
		return
	}
	p.facts(assetOverview(a))
	p.table(shownOf("Interfaces", len(a.Network.Interfaces), total(a.Network.InterfacesTotal)), []column{
		{title: "name"}, {title: "state"}, {title: "mac"}, {title: "mbit/s", right: true}, {title: "addresses"},
	}, interfaceRows(a.Network.Interfaces))
	p.table(shownOf("Volumes", len(a.Storage.Volumes), total(a.Storage.VolumesTotal)), []column{
		{title: "mounted at"}, {title: "device"}, {title: "type"}, {title: "size", right: true}, {title: "used", right: true}, {title: "encrypted"},
	}, volumeRows(a.Storage.Volumes))
	p.gaps(d.Unavailable)
}

// assetSummaries are what the page with everything has tables of, a line for each.
func assetSummaries(a assets.Asset) [][]string {
	var rows [][]string
	if interfaces := addressedText(a.Network); interfaces != "" {
		rows = append(rows, []string{"interfaces", interfaces})
	}
	if volumes := volumesText(a.Storage); volumes != "" {
		rows = append(rows, []string{"volumes", volumes})
	}
	return rows
}

// addressedText shows the first interfaces that other machines can reach.
func addressedText(n assets.Network) string {
	var parts []string
	for _, i := range n.Interfaces {
		reachable := slices.DeleteFunc(slices.Clone(i.Addresses), func(address string) bool {
			prefix, err := netip.ParsePrefix(address)
			return err == nil && (prefix.Addr().IsLoopback() || prefix.Addr().IsLinkLocalUnicast())
		})
		if len(reachable) > 0 && len(parts) < mostInLine {
			parts = append(parts, i.Name+" "+strings.Join(reachable, " "))
		}
	}
	return withMore(parts, max(total(n.InterfacesTotal), len(n.Interfaces)), ", ")
}

func volumesText(s assets.Storage) string {
	var parts []string
	for _, v := range s.Volumes[:min(mostInLine, len(s.Volumes))] {
		parts = append(parts, fmt.Sprintf("%s %s of %s used, %s", v.Mountpoint, sizeText(v.UsedBytes), sizeText(v.SizeBytes), v.FileSystem))
	}
	return withMore(parts, max(total(s.VolumesTotal), len(s.Volumes)), "; ")
}

// machineText says what kind of machine it is, as far as that is known.
func machineText(a assets.Asset) string {
	model := strings.TrimSpace(a.Hardware.Vendor + " " + a.Hardware.Model)
	switch {
	case a.Container != "":
		return "a container (" + a.Container + ")"
	case model != "":
		if strings.ContainsAny(model[:1], "AEIOaeio") { // Apple Inc., Intel
			return "an " + model
		}
		return "a " + model
	case a.Virtualization != "":
		return "a virtual machine (" + a.Virtualization + ")"
	default:
		return "a machine of unknown model"
	}
}

// assetOverview lists the single values that are known.
func assetOverview(a assets.Asset) [][]string {
	memory := ""
	if m := a.Hardware.MemoryBytes; m != nil {
		memory = humanize.Bytes(*m) + " of memory"
	}
	var rows [][]string
	for _, row := range [][]string{
		{"asset id", a.AssetID},
		{"serial number", a.SerialNumber},
		{"hardware", joined(", ", a.Hardware.Chip, coresText(a.Hardware), memory)},
		{"system", joined(", ", titled("kernel", strings.TrimSpace(a.OS.Kernel+" "+a.OS.Architecture)), titled("build", a.OS.Build), titled("up for", uptimeText(a.OS.UptimeSeconds)))},
		{"virtual on", a.Virtualization},
		{"security", securityText(a.Security)},
	} {
		if row[1] != "" {
			rows = append(rows, row)
		}
	}
	return rows
}

func securityText(s assets.Security) string {
	return joined(", ",
		titled("firewall", strings.ToLower(s.Firewall)), titled("secure boot", s.SecureBoot), titled("integrity protection", knownBool(s.SIPEnabled)),
		titled("Gatekeeper", s.Gatekeeper), titled("FileVault", s.FileVault), titled("AppArmor", s.AppArmor), titled("SELinux", s.SELinux),
		titled("disk encryption", knownBool(s.DiskEncryption)))
}

// titled is a value behind its title, and nothing without one.
func titled(title, value string) string {
	if value == "" {
		return ""
	}
	return title + " " + value
}

func knownBool(b *bool) string {
	if b == nil {
		return ""
	}
	return yesNo(b)
}

func uptimeText(seconds *int64) string {
	if seconds == nil {
		return ""
	}
	return humanize.Duration(*seconds)
}

func coresText(h assets.Hardware) string {
	switch {
	case h.Cores == nil:
		return ""
	case len(h.CoreKinds) > 0:
		var kinds []string
		for _, k := range h.CoreKinds {
			kinds = append(kinds, fmt.Sprintf("%d %s", k.Cores, strings.ToLower(k.Name)))
		}
		return fmt.Sprintf("%s (%s)", counted(*h.Cores, "core"), strings.Join(kinds, ", "))
	case h.CoresPhysical == nil:
		return counted(*h.Cores, "core")
	default:
		return fmt.Sprintf("%s (%d physical)", counted(*h.Cores, "core"), *h.CoresPhysical)
	}
}

func interfaceRows(list []assets.Interface) [][]string {
	var rows [][]string
	for _, i := range list {
		speed := "-"
		if i.SpeedMbps > 0 {
			speed = strconv.Itoa(i.SpeedMbps)
		}
		name := i.Name
		if i.Port != "" {
			name += " (" + i.Port + ")"
		}
		rows = append(rows, []string{name, i.State, known(i.MAC), speed, known(strings.Join(i.Addresses, " "))})
	}
	return rows
}

func volumeRows(list []assets.VolumeRow) [][]string {
	var rows [][]string
	for _, v := range list {
		rows = append(rows, []string{v.Mountpoint, v.Device, v.FileSystem, sizeText(v.SizeBytes), sizeText(v.UsedBytes), yesNo(v.Encrypted)})
	}
	return rows
}

func sizeText(n *uint64) string {
	if n == nil {
		return "-"
	}
	return humanize.Bytes(*n)
}

func yesNo(b *bool) string {
	switch {
	case b == nil:
		return "-"
	case *b:
		return "yes"
	default:
		return "no"
	}
}

func total(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}
