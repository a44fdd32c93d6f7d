// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strconv"

	"sentinel/internal/answer"
	"sentinel/internal/containers"
	"sentinel/internal/humanize"
	"sentinel/internal/progress"
)

// A containersDocument answers get_containers.
type containersDocument struct {
	answer.Header
	containers.Report
}

func runContainers(ctx context.Context, s session, call invocation) (document, error) {
	progress.Say(ctx, 5, "asking the container engines")
	report, err := containers.Look(ctx, s.host.Containers, s.host.Now(), call.capped(containers.DefaultRows))
	if err != nil {
		return nil, unavailable(ctx, "The containers of this machine", err)
	}
	d := &containersDocument{answer.NewHeader(call.op.Action, true), report}
	if call.request {
		d.Fit(usualAnswer - answer.Size(d.Header))
	}
	return *d, nil
}

func (d containersDocument) view(p *page) {
	switch {
	case d.ContainersTotal == 0 && len(d.Unavailable) > 0:
		p.verdict(warn, "CONTAINERS", "None was found, and not everything could be asked.")
	case d.ContainersTotal == 0:
		p.verdict(calm, "CONTAINERS", "There is none.")
	case d.NotWellTotal > 0:
		p.verdict(warn, "CONTAINERS", fmt.Sprintf("%d of %s: something is wrong.", d.NotWellTotal, counted(d.ContainersTotal, "container")))
	default:
		p.verdict(calm, "CONTAINERS", fmt.Sprintf("%s, of which %d run; none has a problem.", counted(d.ContainersTotal, "container"), d.RunningTotal))
	}
	for _, c := range d.Containers {
		if c.Problem != "" {
			p.item("%s (%s): %s", c.Name, c.Owner(), c.Problem)
		}
	}
	var rows [][]string
	for _, c := range d.Containers {
		rows = append(rows, []string{c.Name, c.Owner(), string(c.State), restartsText(c.Restarts), memoryText(c.Use), portsText(c.Ports), known(c.Image)})
	}
	if len(rows) > 0 {
		p.table(shownOf("Containers", len(rows), d.ContainersTotal), []column{
			{title: "name"}, {title: "engine"}, {title: "state"}, {title: "restarts", right: true}, {title: "memory", right: true}, {title: "ports"}, {title: "image"},
		}, rows)
	}
	p.gaps(d.Unavailable)
}

func restartsText(n *int) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(*n)
}

func memoryText(u containers.Use) string {
	switch {
	case u.MemoryBytes == nil:
		return "-"
	case u.MemoryLimitBytes == nil:
		return humanize.Bytes(*u.MemoryBytes)
	default:
		return humanize.Bytes(*u.MemoryBytes) + " of " + humanize.Bytes(*u.MemoryLimitBytes)
	}
}

func portsText(list []containers.Port) string {
	var texts []string
	for _, p := range list[:min(mostInLine, len(list))] {
		texts = append(texts, p.Address)
	}
	return known(withMore(texts, len(list), " "))
}
