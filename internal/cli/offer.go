// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"sync/atomic"

	"sentinel/internal/config"
	"sentinel/internal/ops"
)

// An offer has the tools that a model behind a request can call; none where a
// program or a person at a shell sent it. It is filled by the run that reads the request, which may
// be abandoned at its deadline meanwhile.
type offer struct{ tools atomic.Pointer[[]string] }

func (o *offer) take(tools []string) {
	if o != nil && tools != nil {
		o.tools.Store(&tools)
	}
}

// An advising document has texts that tell its reader what to do next. advise
// returns it with what f makes of each.
type advising interface {
	advise(f func(string) string) document
}

// onOffer reports of a tool whether the model behind a request can call it: its
// client offers it, and the policy of this machine lets it. It returns nil where there is no model.
func (p Program) onOffer(call invocation) func(tool string) bool {
	if call.tools == nil || call.tools.tools.Load() == nil {
		return nil
	}
	offered := *call.tools.tools.Load()
	c, err := config.Load(p.ConfigPath, false)
	if err != nil {
		c = config.Default()
	}
	return func(tool string) bool {
		op, known := ops.ByName(tool)
		return known && slices.Contains(offered, tool) && refused(c.Policy, op, true, false) == nil
	}
}
