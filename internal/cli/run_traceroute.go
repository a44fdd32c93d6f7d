// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"sentinel/internal/answer"
	"sentinel/internal/target"
	"sentinel/internal/traceroute"
)

// A routeDocument answers traceroute.
type routeDocument struct {
	answer.Header
	traceroute.Route
}

func runTraceroute(ctx context.Context, s session, call invocation) (document, error) {
	host, err := target.Parse(call.args.Text("target"))
	if err != nil {
		return nil, err
	}
	route, err := traceroute.Trace(ctx, s.host.Traceroute, host)
	if err != nil {
		return nil, err
	}
	d := &routeDocument{answer.NewHeader(call.op.Action, true), route}
	if call.request {
		fit(d, usualAnswer, d.cut)
	}
	return *d, nil
}

// cut leaves out the longest name: the owners of the routers choose them.
func (d *routeDocument) cut() bool {
	longest := 0
	for i, h := range d.Hops {
		if len(h.Name) > len(d.Hops[longest].Name) {
			longest = i
		}
	}
	if len(d.Hops) == 0 || d.Hops[longest].Name == "" {
		return false
	}
	d.Unavailable.Also(fmt.Sprintf("hops.%d.name", d.Hops[longest].Hop), errNameTooLong)
	d.Hops[longest].Name = ""
	return true
}

// errNameTooLong is why a hop has no name.
var errNameTooLong = errors.New("its name is so long that there is no room for it")

func (d routeDocument) view(p *page) {
	if d.Reached {
		p.verdict(calm, "REACHED", fmt.Sprintf("%s answers, %s away.", d.Address, counted(d.HopsTotal, "hop")))
	} else {
		p.verdict(warn, "NOT REACHED", fmt.Sprintf("%s did not answer.", d.Address))
	}
	var rows [][]string
	for _, h := range d.Hops {
		rows = append(rows, []string{strconv.Itoa(h.Hop), known(strings.Join(h.Addresses, " ")), known(h.Name), latencyText(h.LatencyMS), strconv.Itoa(h.LossPercent), known(h.Note)})
	}
	p.table("", []column{{title: "hop", right: true}, {title: "address"}, {title: "name"}, {title: "ms"}, {title: "loss %", right: true}, {title: "note"}}, rows)
	p.gaps(d.Unavailable)
}

func latencyText(list []float64) string {
	var texts []string
	for _, ms := range list {
		texts = append(texts, strconv.FormatFloat(ms, 'f', 1, 64))
	}
	return known(strings.Join(texts, " "))
}
