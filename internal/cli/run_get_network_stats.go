// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strconv"

	"sentinel/internal/answer"
	"sentinel/internal/humanize"
	"sentinel/internal/network"
)

// A networkDocument answers get_network_stats.
type networkDocument struct {
	answer.Header
	network.Report
}

func runNetworkStats(ctx context.Context, s session, call invocation) (document, error) {
	report, err := network.Measure(ctx, s.host.Network, call.capped(network.InterfaceRows))
	if err != nil {
		return nil, unavailable(ctx, "The network counters of this machine", err)
	}
	d := &networkDocument{answer.NewHeader(call.op.Action, true), report}
	if call.request {
		fit(d, usualAnswer, d.cut)
	}
	return *d, nil
}

// cut leaves out the interfaces with the least traffic.
func (d *networkDocument) cut() bool {
	s := &d.Stats
	more := len(s.Interfaces) > 0
	s.Interfaces, s.Truncated = fewer(s.Interfaces), s.Truncated || more
	return more
}

func (d networkDocument) view(p *page) {
	s := d.Stats
	p.verdict(calm, "NETWORK", fmt.Sprintf("%s sent and %s received since the interfaces came up, loopback left out.",
		humanize.Bytes(s.TotalBytesSent), humanize.Bytes(s.TotalBytesRecv)))
	var rows [][]string
	for _, i := range s.Interfaces {
		rows = append(rows, []string{
			i.Name, humanize.Bytes(i.BytesSent), humanize.Bytes(i.BytesRecv), rateText(i.SentPerSecond), rateText(i.RecvPerSecond),
			fmt.Sprint(i.ErrorsIn + i.ErrorsOut), dropsText(i),
		})
	}
	p.table(fmt.Sprintf("%d of %s, rates over %d ms", len(s.Interfaces), counted(s.InterfacesTotal, "interface"), s.WindowMS), []column{
		{title: "name"}, {title: "sent", right: true}, {title: "received", right: true},
		{title: "sent/s", right: true}, {title: "recv/s", right: true}, {title: "errors", right: true}, {title: "drops", right: true},
	}, rows)
	if c := s.Connections; c != nil {
		p.table("Connections", []column{
			{title: "total", right: true}, {title: "tcp", right: true}, {title: "udp", right: true}, {title: "established", right: true},
			{title: "listen", right: true}, {title: "time wait", right: true}, {title: "close wait", right: true}, {title: "other", right: true},
		}, [][]string{{
			strconv.Itoa(c.Total), strconv.Itoa(c.TCP), strconv.Itoa(c.UDP), strconv.Itoa(c.Established),
			strconv.Itoa(c.Listen), strconv.Itoa(c.TimeWait), strconv.Itoa(c.CloseWait), strconv.Itoa(c.Other),
		}})
	}
	p.gaps(d.Unavailable)
}

// dropsText adds up the drops that are known.
func dropsText(i network.InterfaceStats) string {
	sum, known := uint64(0), false
	for _, drops := range []*uint64{i.DropsIn, i.DropsOut} {
		if drops != nil {
			sum, known = sum+*drops, true
		}
	}
	if !known {
		return "-"
	}
	return strconv.FormatUint(sum, 10)
}

func rateText(bytesPerSecond *int64) string {
	if bytesPerSecond == nil {
		return "-"
	}
	return humanize.Bytes(uint64(*bytesPerSecond)) + "/s"
}
