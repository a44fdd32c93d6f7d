// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"sentinel/internal/answer"
	"sentinel/internal/blocklist"
	"sentinel/internal/sanitize"
)

// An unblockDocument answers unblock_ip_address.
type unblockDocument struct {
	answer.Header
	blocklist.UnblockResult
	record
}

func planUnblock(ctx context.Context, s session, call invocation) (change, error) {
	object := addressObject{sanitize.Text(call.args.Text("ip"), 45)}
	plan, err := s.blocklist().PlanUnblock(ctx, call.args.Text("ip"), call.force)
	if err != nil {
		return change{}, about(err, object)
	}
	return change{
		object:  map[string]any{"ip": plan.Address(), "force": call.force},
		would:   plan.Summary(),
		preview: plan.Preview(),
		do: func(ctx context.Context) (changed, error) {
			done, err := plan.Do(ctx)
			if err != nil {
				return nil, about(err, object)
			}
			return &unblockDocument{answer.NewHeader(call.op.Action, true), done, record{}}, nil
		},
	}, nil
}

func (d *unblockDocument) outcome() string { return fmt.Sprintf("%s is let in again", d.IP) }

func (d *unblockDocument) view(p *page) {
	p.verdict(calm, "UNBLOCKED", d.IP+" is let in again.")
	if d.Was != nil {
		p.line("%s", formerBlock(*d.Was))
	}
	p.warnings(d.Warnings)
	p.gaps(d.Unavailable)
}

// maxListed bounds each text of a block, in runes, as the list does.
const maxListed = 200

// formerBlock says who had blocked an address and, where it is known, why.
func formerBlock(was blocklist.Row) string {
	text := fmt.Sprintf("It was blocked by %s at %s", sanitize.Quoted(known(was.BlockedBy), maxListed), whenText(was.BlockedAt))
	if was.Reason == "" {
		return text + "."
	}
	return text + ": " + sanitize.Quoted(was.Reason, maxListed)
}
