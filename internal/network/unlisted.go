// SPDX-License-Identifier: Apache-2.0

package network

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sentinel/internal/answer"
	"sentinel/internal/humanize"
	"sentinel/internal/sanitize"
)

// Unlisted are sockets that the lists do not have: their addresses are of other kinds.
type Unlisted struct {
	Machines []VSock // that other virtual machines, or the hypervisor, reach
	Open     []Count // of other protocols, those without any left out
}

// A VSock is a listener of AF_VSOCK (vsock(7)).
type VSock struct {
	Port uint32
	ID   uint64 // as that of a [Socket]
}

// A Count is how many sockets of a protocol are open.
type Count struct {
	Protocol string
	Sockets  int
}

// An Unlister is a [Source] of a system that has such sockets. What is known is returned beside an error.
type Unlister interface {
	Unlisted(ctx context.Context) (Unlisted, error)
}

// maxPorts is how many ports a sentence names.
const maxPorts = 3

// noteUnlisted says what the list of listeners does not have, and whose it is.
func noteUnlisted(ctx context.Context, source Source, gaps *answer.Gaps) {
	system, ok := source.(Unlister)
	if !ok {
		return
	}
	found, err := system.Unlisted(ctx)
	if n := len(found.Machines); n > 0 {
		slices.SortFunc(found.Machines, func(a, b VSock) int { return int(int64(a.Port) - int64(b.Port)) })
		gaps.Note("listening", fmt.Sprintf("%s of AF_VSOCK (%s), which the hypervisor or virtual machines reach, %s not in the list%s",
			humanize.Count(n, "listener", "listeners"), ports(found.Machines), are(n), heldBy(ctx, source, found.Machines)))
	}
	for _, c := range found.Open {
		gaps.Note("listening", fmt.Sprintf("%s of %s, which may listen, %s not in the list", humanize.Count(c.Sockets, "open socket", "open sockets"), c.Protocol, are(c.Sockets)))
	}
	gaps.Add("listening", err)
}

func are(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// ports names the first of them.
func ports(list []VSock) string {
	var names []string
	for _, s := range list[:min(len(list), maxPorts)] {
		names = append(names, strconv.FormatUint(uint64(s.Port), 10))
	}
	if more := len(list) - maxPorts; more > 0 {
		names = append(names, strconv.Itoa(more)+" more")
	}
	if len(list) == 1 {
		return "port " + names[0]
	}
	return "ports " + strings.Join(names, ", ")
}

// heldBy names the process of the first whose process is seen, in words that end a sentence.
func heldBy(ctx context.Context, source Source, list []VSock) string {
	var sockets []Socket
	for _, s := range list[:min(len(list), maxPorts)] {
		sockets = append(sockets, Socket{ID: s.ID})
	}
	owners, _, _ := source.Owners(ctx, sockets) //nolint:errcheck // whose it is is not known then
	for _, s := range list[:len(sockets)] {
		if o, seen := owners[s.ID]; seen {
			return fmt.Sprintf("; %d is of %s (PID %d)", s.Port, sanitize.Quoted(o.Name, 32), o.PID)
		}
	}
	return ""
}
