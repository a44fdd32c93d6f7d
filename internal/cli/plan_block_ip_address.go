// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"sentinel/internal/answer"
	"sentinel/internal/blocklist"
	"sentinel/internal/sanitize"
)

// A blockDocument answers block_ip_address.
type blockDocument struct {
	answer.Header
	blocklist.BlockResult
	record
}

// An addressObject names the address in the document of a failure.
type addressObject struct {
	IP string `json:"ip"`
}

func planBlock(ctx context.Context, s session, call invocation) (change, error) {
	object := addressObject{sanitize.Text(call.args.Text("ip"), 45)}
	ttl, err := blocklist.ParseTTL(call.args.Text("ttl"))
	if err != nil {
		return change{}, about(err, object)
	}
	plan, err := s.blocklist().PlanBlock(ctx, blocklist.Request{
		Address: call.args.Text("ip"), Reason: call.args.Text("reason"), By: author(s.who), TTL: ttl, Force: call.force,
		EndSession: call.args.Bool("end_session"),
	})
	if err != nil {
		return change{}, about(err, object)
	}
	expected, known := plan.Preview()
	arguments := blockArguments(plan, call)
	c := change{
		object: arguments,
		bound:  []any{arguments, plan.SideEffect(), whose(plan.Ends())},
		would:  plan.Summary(),
		do: func(ctx context.Context) (changed, error) {
			done, err := plan.Do(ctx)
			if err != nil {
				return nil, about(err, object)
			}
			return &blockDocument{answer.NewHeader(call.op.Action, true), done, record{}}, nil
		},
	}
	if known {
		c.preview = expected
	}
	if plan.SideEffect() != "" || len(plan.Unseen()) > 0 {
		c.question = "Block it?"
	}
	return c, nil
}

// blockArguments are those that take effect: a block that is on the list
// already keeps its end.
func blockArguments(plan *blocklist.BlockPlan, call invocation) map[string]any {
	object := map[string]any{"ip": plan.Address(), "force": call.force}
	if call.args.Bool("end_session") {
		object["end_session"] = true
	}
	if end, again := plan.Reapplies(); again {
		object["expires_at"] = cmp.Or(end, "never")
	} else if ttl := call.args.Text("ttl"); ttl != "" {
		object["ttl"] = ttl
	}
	return object
}

func (d *blockDocument) outcome() string {
	return fmt.Sprintf("%s is dropped by %s (%s), %s", d.IP, d.Backend, strings.Join(d.Directions, ", "), untilText(d.ExpiresAt))
}

func (d *blockDocument) view(p *page) {
	ends := d.ExpiresAt
	if ends != "" {
		ends = whenText(ends)
	}
	p.verdict(calm, "BLOCKED", fmt.Sprintf("%s is dropped by %s (%s), %s.", d.IP, d.Backend, strings.Join(d.Directions, ", "), untilText(ends)))
	if n := d.ConnectionsCut; n != nil {
		p.line("Open connections that were cut: %d.", *n)
	}
	p.warnings(d.Warnings)
	p.gaps(d.Unavailable)
}

// untilText says when a block ends.
func untilText(ends string) string {
	if ends == "" {
		return "until it is unblocked"
	}
	return "until " + ends
}

// warnings writes what the person should know beside the verdict.
func (p *page) warnings(list []string) {
	for _, w := range list {
		p.fix("Note: " + w)
	}
}
