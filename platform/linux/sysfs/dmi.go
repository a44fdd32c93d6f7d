// SPDX-License-Identifier: Apache-2.0

// Package sysfs reads what the kernel reports about the hardware in /sys.
//
// Every reader takes the root of the system, "/" on a live one, so that tests can use trees of
// their own.
package sysfs

import (
	"errors"
	"path/filepath"
	"strings"

	"sentinel/platform/unix/hostfile"
)

// ErrPlaceholder reports a firmware field that its manufacturer never filled
// in.
var ErrPlaceholder = errors.New("the firmware holds only a placeholder")

// A DMI is the firmware's description of the machine, from /sys/class/dmi/id. A field that is
// missing or a placeholder is empty.
type DMI struct {
	SystemVendor   string // "LENOVO", "QEMU"
	ProductName    string
	ProductVersion string // Lenovo's model name, often empty for other makers
	BoardVendor    string
	BoardName      string
	BIOSVendor     string
	ChassisVendor  string // still names QEMU where a machine is made to look like another
}

// ReadDMI reads the fields that are readable without root. It fails only if the machine has no DMI
// at all (most ARM boards, some virtual machines).
func ReadDMI(root string) (DMI, error) {
	dir := filepath.Join(root, "sys/class/dmi/id")
	if !hostfile.Exists(dir + "/.") {
		_, err := hostfile.Names(dir, 1)
		return DMI{}, err
	}
	field := func(name string) string {
		text, err := dmiField(dir, name)
		if err != nil {
			return ""
		}
		return text
	}
	return DMI{
		SystemVendor:   field("sys_vendor"),
		ProductName:    field("product_name"),
		ProductVersion: field("product_version"),
		BoardVendor:    field("board_vendor"),
		BoardName:      field("board_name"),
		BIOSVendor:     field("bios_vendor"),
		ChassisVendor:  field("chassis_vendor"),
	}, nil
}

// ReadSerial returns the machine's serial number, which the kernel shows only
// to root. Boards with a device tree show theirs to everyone.
func ReadSerial(root string) (string, error) {
	serial, err := dmiField(filepath.Join(root, "sys/class/dmi/id"), "product_serial")
	if !hostfile.Missing(err) {
		return serial, err
	}
	serial, err = treeText(root, "serial-number")
	if err == nil && IsPlaceholder(serial) {
		return "", ErrPlaceholder
	}
	return serial, err
}

func dmiField(dir, name string) (string, error) {
	text, err := hostfile.Text(dir + "/" + name)
	if errors.Is(err, hostfile.ErrEmpty) || err == nil && IsPlaceholder(text) {
		return "", ErrPlaceholder
	}
	return text, err
}

// Model names the machine. Makers put the commercial name in different fields: Lenovo's product
// name is an order number and its version the name; on a self-built machine only the board has one.
func (d DMI) Model() (vendor, model string) {
	if strings.EqualFold(d.SystemVendor, "LENOVO") && startsWithLetter(d.ProductVersion) {
		return d.SystemVendor, d.ProductVersion
	}
	if d.ProductName != "" {
		return d.SystemVendor, d.ProductName
	}
	if d.SystemVendor == "" {
		return d.BoardVendor, d.BoardName
	}
	return d.SystemVendor, d.BoardName
}

// startsWithLetter distinguishes "ThinkPad X1" from the bare numbers that Lenovo's servers have as
// their version.
func startsWithLetter(s string) bool {
	return s != "" && (s[0]|0x20) >= 'a' && (s[0]|0x20) <= 'z'
}

// IsPlaceholder reports whether a firmware field carries no information: it is empty, a default text
// that the maker left in, or one repeated character.
func IsPlaceholder(s string) bool {
	s = strings.ToLower(strings.Trim(s, " .\t"))
	if s == "" || strings.Count(s, s[:1]) == len(s) {
		return true
	}
	switch s {
	case "none", "null", "n/a", "na", "unknown", "undefined", "empty", "void", "invalid", "default", "default string",
		"not specified", "not applicable", "not available", "not present", "no asset tag", "no enclosure",
		"o.e.m", "oem", "to be filled by o.e.m", "to be filled by oem", "fill by oem", "all series", "sku",
		"system manufacturer", "system name", "system product name", "product name", "system version",
		"system serial number", "serial number", "chassis serial number", "base board serial number",
		"0123456789", "123456789", "1234567890", "type1productconfigid", "sernum0":
		return true
	}
	return false
}
