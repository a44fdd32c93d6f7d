// SPDX-License-Identifier: Apache-2.0

package sysfs

import (
	"path/filepath"
	"strings"

	"sentinel/platform/unix/hostfile"
)

// maxProperty caps a property of the device tree, in bytes.
const maxProperty = 4096

// A DeviceTree is the root of the tree that describes boards without DMI, from
// /sys/firmware/devicetree/base. A missing property is empty.
type DeviceTree struct {
	Model      string   // "Raspberry Pi 4 Model B Rev 1.4"
	Compatible []string // most specific first: "raspberrypi,4-model-b", "brcm,bcm2711"
	Hypervisor string   // the hypervisor, such as "linux,kvm"; empty on hardware
}

// ReadDeviceTree reads the device tree. It fails when the machine has none.
func ReadDeviceTree(root string) (DeviceTree, error) {
	var t DeviceTree
	raw, err := hostfile.Read(treePath(root, "compatible"), maxProperty)
	if err != nil {
		return t, err
	}
	t.Compatible = parseStringList(raw)
	t.Model, _ = treeText(root, "model") //nolint:errcheck // absent is empty
	if raw, err := hostfile.Read(treePath(root, "hypervisor/compatible"), maxProperty); err == nil {
		t.Hypervisor = strings.Join(parseStringList(raw), " ")
	}
	return t, nil
}

func treePath(root, property string) string {
	return filepath.Join(root, "sys/firmware/devicetree/base", property)
}

func treeText(root, property string) (string, error) { return hostfile.Text(treePath(root, property)) }

// parseStringList splits a property that holds several strings, each ended by
// a NUL.
func parseStringList(b []byte) []string {
	list := []string{}
	for s := range strings.SplitSeq(string(b), "\x00") {
		if s = strings.TrimSpace(s); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// Vendor returns the name of the board's maker, for display.
func (t DeviceTree) Vendor() string {
	if len(t.Compatible) == 0 {
		return ""
	}
	prefix, _, ok := strings.Cut(t.Compatible[0], ",")
	if !ok {
		return ""
	}
	return makerName(prefix)
}

// Chip returns the system on chip: the least specific entry, ignoring the board families that some
// makers put after it.
func (t DeviceTree) Chip() string {
	for i := len(t.Compatible) - 1; i > 0; i-- {
		prefix, part, ok := strings.Cut(t.Compatible[i], ",")
		if !ok || strings.HasSuffix(part, "-platform") {
			continue
		}
		return makerName(prefix) + " " + strings.ToUpper(part)
	}
	return ""
}

// makerName spells out the vendor prefixes of boards used as servers and desktops; others are
// returned unchanged.
func makerName(prefix string) string {
	switch prefix {
	case "allwinner":
		return "Allwinner"
	case "amlogic":
		return "Amlogic"
	case "apple":
		return "Apple"
	case "brcm":
		return "Broadcom"
	case "fsl", "nxp":
		return "NXP"
	case "marvell":
		return "Marvell"
	case "mediatek":
		return "MediaTek"
	case "nvidia":
		return "NVIDIA"
	case "qcom":
		return "Qualcomm"
	case "raspberrypi":
		return "Raspberry Pi"
	case "rockchip":
		return "Rockchip"
	case "samsung":
		return "Samsung"
	case "sifive":
		return "SiFive"
	case "starfive":
		return "StarFive"
	case "ti":
		return "Texas Instruments"
	case "xlnx":
		return "Xilinx"
	default:
		return prefix
	}
}
