// SPDX-License-Identifier: Apache-2.0

package sysfs

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/testenv"
	"sentinel/platform/unix/hostfile"
)

func TestFirmwarePlaceholdersAreNotData(t *testing.T) {
	for _, s := range []string{
		"To be filled by O.E.M.", "To Be Filled By O.E.M.", "Default string", "System Serial Number", "None", "0", "00000000",
		"Not Specified", "xxxxxxxxxx", "..............", "  ", "", "INVALID", "System Product Name", "O.E.M.", "Unknown", "N/A", "-",
	} {
		if !IsPlaceholder(s) {
			t.Errorf("%q counts as data", s)
		}
	}
	for _, s := range []string{"ThinkPad X1 Carbon Gen 9", "EXAMPLE123", "0001", "Standard PC (Q35 + ICH9, 2009)", "Nonesuch", "None of these"} {
		if IsPlaceholder(s) {
			t.Errorf("%q counts as a placeholder", s)
		}
	}
}

func TestModelIsTheNamePeopleKnow(t *testing.T) {
	for _, c := range []struct {
		name, vendor, model string
		in                  DMI
	}{
		{"product", "Dell Inc.", "PowerEdge R640", DMI{SystemVendor: "Dell Inc.", ProductName: "PowerEdge R640", BoardName: "0ABC"}},
		{"Lenovo laptop", "LENOVO", "ThinkPad X1 Carbon Gen 9", DMI{SystemVendor: "LENOVO", ProductName: "20XXEXAMPL", ProductVersion: "ThinkPad X1 Carbon Gen 9"}},
		{"Lenovo server", "Lenovo", "ThinkSystem SR650", DMI{SystemVendor: "Lenovo", ProductName: "ThinkSystem SR650", ProductVersion: "07"}},
		{"Lenovo without version", "LENOVO", "20XXEXAMPL", DMI{SystemVendor: "LENOVO", ProductName: "20XXEXAMPL"}},
		{"built from parts", "ASUSTeK", "PRIME B450", DMI{BoardVendor: "ASUSTeK", BoardName: "PRIME B450"}},
		{"vendor without product", "Acme", "Board 1", DMI{SystemVendor: "Acme", BoardVendor: "Other", BoardName: "Board 1"}},
		{"nothing", "", "", DMI{}},
	} {
		if vendor, model := c.in.Model(); vendor != c.vendor || model != c.model {
			t.Errorf("%s: %q %q, want %q %q", c.name, vendor, model, c.vendor, c.model)
		}
	}
}

func TestDMIReadsEveryFieldAndDropsPlaceholders(t *testing.T) {
	const id = "sys/class/dmi/id/"
	root := testenv.Plant(t, map[string]string{
		id + "sys_vendor": "Example Corp.\n", id + "product_name": "System Product Name\n", id + "product_version": "\n",
		id + "board_vendor": "Example Boards\n", id + "board_name": "EX-1\n", id + "bios_vendor": "Example BIOS\n",
		id + "chassis_vendor": "Example Cases\n",
	})
	got, err := ReadDMI(root)
	want := DMI{SystemVendor: "Example Corp.", BoardVendor: "Example Boards", BoardName: "EX-1", BIOSVendor: "Example BIOS", ChassisVendor: "Example Cases"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if _, err := ReadDMI(t.TempDir()); !hostfile.Missing(err) {
		t.Errorf("no DMI: %v", err)
	}
}

func TestSerialComesFromWhereTheMachineHasIt(t *testing.T) {
	const dmi, tree = "sys/class/dmi/id/product_serial", "sys/firmware/devicetree/base/serial-number"
	for _, c := range []struct {
		name, want string
		files      map[string]string
		wantErr    error
	}{
		{"DMI", "EXAMPLE123", map[string]string{dmi: "EXAMPLE123\n"}, nil},
		{"DMI before device tree", "EXAMPLE123", map[string]string{dmi: "EXAMPLE123\n", tree: "x1\x00"}, nil},
		{"device tree", "10000000example1", map[string]string{tree: "10000000example1\x00"}, nil},
		{"placeholder in DMI", "", map[string]string{dmi: "To be filled by O.E.M.\n"}, ErrPlaceholder},
		{"nothing in DMI", "", map[string]string{dmi: "\n"}, ErrPlaceholder},
		{"placeholder in the tree", "", map[string]string{tree: "0000000000000000\x00"}, ErrPlaceholder},
		{"none", "", nil, os.ErrNotExist},
	} {
		got, err := ReadSerial(testenv.Plant(t, c.files))
		if got != c.want || !errors.Is(err, c.wantErr) {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
}

func TestDeviceTreeNamesBoardMakerAndChip(t *testing.T) {
	for _, c := range []struct {
		name, compatible, vendor, chip string
	}{
		{"Raspberry Pi", "raspberrypi,4-model-b\x00brcm,bcm2711\x00", "Raspberry Pi", "Broadcom BCM2711"},
		{"family after the chip", "apple,j313\x00apple,t8103\x00apple,arm-platform\x00", "Apple", "Apple T8103"},
		{"maker not in the list", "pine64,rockpro64\x00rockchip,rk3399\x00", "pine64", "Rockchip RK3399"},
		{"only the board", "acme,board\x00", "acme", ""},
		{"without maker", "board\x00chip", "", ""},
		{"empty", "", "", ""},
	} {
		tree := DeviceTree{Compatible: parseStringList([]byte(c.compatible))}
		if vendor, chip := tree.Vendor(), tree.Chip(); vendor != c.vendor || chip != c.chip {
			t.Errorf("%s: %q %q, want %q %q", c.name, vendor, chip, c.vendor, c.chip)
		}
	}
	const base = "sys/firmware/devicetree/base/"
	got, err := ReadDeviceTree(testenv.Plant(t, map[string]string{
		base + "model": "Example Board\x00", base + "compatible": "acme,board\x00acme,chip\x00", base + "hypervisor/compatible": "linux,kvm\x00",
	}))
	want := DeviceTree{Model: "Example Board", Compatible: []string{"acme,board", "acme,chip"}, Hypervisor: "linux,kvm"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if _, err := ReadDeviceTree(t.TempDir()); !hostfile.Missing(err) {
		t.Errorf("no tree: %v", err)
	}
}

func FuzzStringList(f *testing.F) {
	f.Add([]byte("raspberrypi,4-model-b\x00brcm,bcm2711\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		tree := DeviceTree{Compatible: parseStringList(b)}
		for _, s := range append(tree.Compatible, tree.Vendor(), tree.Chip()) {
			if strings.ContainsRune(s, 0) {
				t.Errorf("a NUL in %q", s)
			}
		}
	})
}
