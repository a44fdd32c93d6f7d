// SPDX-License-Identifier: Apache-2.0

package services

import (
	"context"
	"slices"
	"strconv"

	"sentinel/internal/lazyregexp"
)

// listening lists the ports of this machine, once for an answer.
func (i *inspection) listening(ctx context.Context) []Port {
	if i.looked || i.asked.Listening == nil {
		return i.ports
	}
	i.looked = true
	var err error
	if i.ports, err = i.asked.Listening(ctx); err != nil {
		i.gaps.Add("ports", err)
	}
	return i.ports
}

// ownPorts are those of the processes of a service; nil where none can be read.
func (i *inspection) ownPorts(ctx context.Context, pids []int) []Port {
	all := i.listening(ctx)
	if all == nil {
		return nil
	}
	own := []Port{}
	for _, p := range all {
		if p.PID != 0 && slices.Contains(pids, p.PID) && len(own) < maxPorts {
			own = append(own, p)
		}
	}
	return own
}

// inUse is how programs say EADDRINUSE: strerror(3), Go, Java, Node.js, Python.
var inUse = lazyregexp.New(`(?i)address (?:is )?already in use|EADDRINUSE|(?:port|address).{0,40}(?:in use|is taken|already allocated)`)

// quoted is what a log line tells of others, who may have sent anything: a request, the query of an address.
var quoted = lazyregexp.New(`"[^"]*[\s/?][^"]*"|\S*[?&%]\S*`)

// portInLine finds a port beside that: behind the colon of an address, which a time of day has as well, or
// behind the word.
var portInLine = lazyregexp.New(`(?i)(?:(?:^|[\s\]*:a-z('"]|\d{1,3}(?:\.\d{1,3}){3}):|\bport[ =:]+)(\d{1,5})\b`)

// takenPorts names who listens on a port that a line of the service says is in use.
func (i *inspection) takenPorts(ctx context.Context, log []ShownLine) []Port {
	var taken []Port
	for _, line := range log {
		text := quoted.Get().ReplaceAllString(line.Text, " ")
		if line.Foreign || !inUse.Get().MatchString(text) {
			continue
		}
		for _, match := range portInLine.Get().FindAllStringSubmatch(text, 4) {
			port, err := strconv.ParseUint(match[1], 10, 16)
			if err != nil || port == 0 {
				continue
			}
			taken = i.add(ctx, taken, uint16(port))
		}
	}
	return taken
}

func (i *inspection) add(ctx context.Context, taken []Port, number uint16) []Port {
	for _, p := range i.listening(ctx) {
		same := func(other Port) bool { return other.Number == number && other.PID == p.PID }
		if p.Number == number && !slices.ContainsFunc(taken, same) && len(taken) < 3 {
			taken = append(taken, p)
		}
	}
	return taken
}
