// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"sentinel/internal/answer"
	"sentinel/internal/dnslookup"
	"sentinel/internal/progress"
)

// A lookupDocument answers dns_lookup.
type lookupDocument struct {
	answer.Header
	dnslookup.Lookup
}

func runDNSLookup(ctx context.Context, s session, call invocation) (document, error) {
	query, err := dnslookup.ParseQuery(call.args.Text("name"), call.args.Text("record_type"))
	if err != nil {
		return nil, err
	}
	sources := s.host.DNS
	if server := call.args.Text("server"); server != "" {
		if sources, err = sources.At(server); err != nil {
			return nil, err
		}
	}
	progress.Say(ctx, 5, "asking the name servers")
	lookup, err := dnslookup.Resolve(ctx, sources, query, call.capped(dnslookup.DefaultRecords))
	if err != nil {
		return nil, err
	}
	d := &lookupDocument{answer.NewHeader(call.op.Action, true), lookup}
	if call.request {
		d.fit()
	}
	return *d, nil
}

// fit leaves out the last records until the document is small enough for a model.
func (d *lookupDocument) fit() {
	fit(d, usualAnswer, func() bool {
		more := len(d.Records) > 0
		d.Records, d.Truncated = fewer(d.Records), true
		return more
	})
}

func (d lookupDocument) view(p *page) {
	verdict := fmt.Sprintf("%s has %s, says %s after %.1f ms.", d.Name, counted(d.RecordsTotal, "record"), d.Server, d.TimeMS)
	if d.Authenticated {
		verdict += " It checked the signatures."
	}
	p.verdict(calm, "DNS", verdict)
	var rows [][]string
	for _, r := range d.Records {
		rows = append(rows, []string{r.Name, r.Type, strconv.FormatUint(r.TTL, 10), priorityText(r) + r.Value})
	}
	p.table(shownOf("Records", len(d.Records), d.RecordsTotal), []column{{title: "name"}, {title: "type"}, {title: "ttl", right: true}, {title: "value"}}, rows)
	p.gaps(d.Unavailable)
}

// priorityText stands before the value, as in a zone file.
func priorityText(r dnslookup.Record) string {
	var text strings.Builder
	for _, n := range []*int{r.Priority, r.Weight, r.Port} {
		if n != nil {
			text.WriteString(strconv.Itoa(*n) + " ")
		}
	}
	return text.String()
}
