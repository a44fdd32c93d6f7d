// SPDX-License-Identifier: Apache-2.0

package sysfs

import (
	"path/filepath"
	"strconv"
	"strings"

	"sentinel/platform/unix/hostfile"
)

// maxInterfaces bounds the list of interfaces.
const maxInterfaces = 65536

// A NetDevice is one interface as /sys/class/net describes it: without IP addresses, which sysfs
// does not have.
type NetDevice struct {
	Name  string
	Index int
	MAC   string // as the kernel writes it; empty if there is none
	MTU   int    // bytes; 0 if not known
	Flags uint32 // IFF_UP and so on, netdevice(7)
	State string // operstate of RFC 2863: "up", "down", "unknown", ...
}

// ReadNetDevices lists the interfaces of the network namespace that /sys was
// mounted in, which is not always that of the caller.
func ReadNetDevices(root string) ([]NetDevice, error) {
	dir := filepath.Join(root, "sys/class/net")
	names, err := hostfile.Names(dir, maxInterfaces)
	if err != nil {
		return nil, err
	}
	list := make([]NetDevice, 0, len(names))
	for _, name := range names {
		if !hostfile.Exists(dir + "/" + name + "/ifindex") {
			continue // bonding_masters and the like are files
		}
		list = append(list, readNetDevice(dir+"/"+name, name))
	}
	return list, nil
}

func readNetDevice(dir, name string) NetDevice {
	attribute := func(file string) string {
		s, err := hostfile.Text(dir + "/" + file)
		if err != nil {
			return ""
		}
		return s
	}
	number := func(file string, base, bits int) uint64 {
		n, err := strconv.ParseUint(strings.TrimPrefix(attribute(file), "0x"), base, bits)
		if err != nil {
			return 0
		}
		return n
	}
	return NetDevice{
		Name:  name,
		Index: int(number("ifindex", 10, 31)),
		MAC:   attribute("address"),
		MTU:   int(number("mtu", 10, 31)),
		Flags: uint32(number("flags", 16, 32)),
		State: attribute("operstate"),
	}
}

// LinkSpeed returns the speed of an interface in Mbit/s, or 0 if it has none or does not know it:
// the read fails then, or yields -1. index guards against a /sys of another network namespace,
// where the name may belong to another device.
func LinkSpeed(root, name string, index int) int {
	if name == "" || strings.ContainsRune(name, '/') || name == "." || name == ".." {
		return 0
	}
	dir := filepath.Join(root, "sys/class/net", name)
	if at, err := hostfile.Text(dir + "/ifindex"); err != nil || at != strconv.Itoa(index) {
		return 0
	}
	text, err := hostfile.Text(dir + "/speed")
	if err != nil {
		return 0
	}
	return parseSpeed(text)
}

func parseSpeed(s string) int {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return 0
	}
	return int(n)
}
