// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"bytes"
	"slices"
	"strings"

	"sentinel/internal/sanitize"
	"sentinel/platform/linux/interfaces"
)

// unseenStacked says what else a packet filter does not see: frames that an interface hands to one of another network namespace or
// of a virtual machine before any rule of this one (macvlan, ipvlan and macvtap of ip-link(8)).
func unseenStacked() string {
	const what = "containers and virtual machines on an interface of this machine itself (macvlan, ipvlan, macvtap)"
	links, err := interfaces.List()
	var filters []interfaces.Filter
	if err == nil {
		filters, err = interfaces.Filters(links)
	}
	if err != nil {
		return "Whether " + what + " can still be reached is not known: " + sanitize.Text(err.Error(), 200) + "."
	}
	names := handingOver(links, filters)
	if len(names) == 0 {
		return ""
	}
	return "What comes in for " + what + " is not dropped: no rule here sees what they take from " + someNames(names) + "."
}

// handingOver lists the interfaces that take frames for something which is not in this network namespace.
func handingOver(links []interfaces.Link, filters []interfaces.Filter) (names []string) {
	for _, l := range links {
		foreign := func(f interfaces.Filter) bool { return f.Index == l.Index && !takenHere(links, l, f.MAC) }
		toGuest := func(o interfaces.Link) bool {
			return o.Lower == l.Index && !o.Abroad && strings.HasSuffix(o.Kind, "vtap")
		}
		if slices.ContainsFunc(links, toGuest) || slices.ContainsFunc(filters, foreign) {
			names = append(names, sanitize.Text(l.Name, 15))
		}
	}
	return names
}

// takenHere says whether it is for an interface of this network namespace that another one takes the frames of an address.
func takenHere(links []interfaces.Link, lower interfaces.Link, address []byte) bool {
	return slices.ContainsFunc(links, func(l interfaces.Link) bool {
		if bytes.Equal(address, lower.MAC) {
			return l.Lower == lower.Index && !l.Abroad && l.Kind == "ipvlan"
		}
		return bytes.Equal(address, l.MAC)
	})
}
