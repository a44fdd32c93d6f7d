// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strconv"
	"strings"

	"sentinel/internal/assets"
	"sentinel/internal/humanize"
)

func (d assetDocument) view(p *page) {
	a := d.Asset
	p.verdict(calm, "ASSET", fmt.Sprintf("%s is %s with %s.", known(a.Hostname), machineText(a), known(strings.TrimSpace(a.OS.Name+" "+a.OS.Version))))
	p.table("", []column{{title: "what"}, {title: "value"}}, assetOverview(a))
	p.table(shownOf("Interfaces", len(a.Network.Interfaces), total(a.Network.InterfacesTotal)), []column{
		{title: "name"}, {title: "state"}, {title: "mac"}, {title: "mbit/s", right: true}, {title: "addresses"},
	}, interfaceRows(a.Network.Interfaces))
	p.table(shownOf("Volumes", len(a.Storage.Volumes), total(a.Storage.VolumesTotal)), []column{
		{title: "mounted at"}, {title: "device"}, {title: "type"}, {title: "size", right: true}, {title: "used", right: true}, {title: "encrypted"},
	}, volumeRows(a.Storage.Volumes))
	p.gaps(d.Unavailable)
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
	var rows [][]string
	add := func(what, value string) {
		if value != "" {
			rows = append(rows, []string{what, value})
		}
	}
	add("asset id", a.AssetID)
	add("serial number", a.SerialNumber)
	add("chip", a.Hardware.Chip)
	add("cores", coresText(a.Hardware))
	if m := a.Hardware.MemoryBytes; m != nil {
		add("memory", humanize.Bytes(*m))
	}
	add("kernel", strings.TrimSpace(a.OS.Kernel+" "+a.OS.Architecture))
	add("build", a.OS.Build)
	add("up for", a.OS.Uptime)
	add("virtual on", a.Virtualization)
	add("firewall", strings.ToLower(a.Security.Firewall))
	add("secure boot", a.Security.SecureBoot)
	if sip := a.Security.SIPEnabled; sip != nil {
		add("integrity protection", yesNo(sip))
	}
	add("Gatekeeper", a.Security.Gatekeeper)
	add("FileVault", a.Security.FileVault)
	add("AppArmor", a.Security.AppArmor)
	add("SELinux", a.Security.SELinux)
	if e := a.Security.DiskEncryption; e != nil {
		add("disk encryption", yesNo(e))
	}
	return rows
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
		return fmt.Sprintf("%d (%s)", *h.Cores, strings.Join(kinds, ", "))
	case h.CoresPhysical == nil:
		return strconv.Itoa(*h.Cores)
	default:
		return fmt.Sprintf("%d (%d physical)", *h.Cores, *h.CoresPhysical)
	}
}

func interfaceRows(list []assets.Interface) [][]string {
	var rows [][]string
	for _, i := range list {
		speed := "-"
		if i.SpeedMbps > 0 {
			speed = strconv.Itoa(i.SpeedMbps)
		}
		rows = append(rows, []string{i.Name, i.State, known(i.MAC), speed, known(strings.Join(i.Addresses, " "))})
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
