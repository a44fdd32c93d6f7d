// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"sync/atomic"

	"sentinel/internal/config"
	"sentinel/internal/ops"
)

// An offer has the tools that whoever sent a request can call. It is filled
// by the run that reads the request, which may be abandoned at its deadline meanwhile.
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

// onOffer reports of a tool whether the sender of a request can call it: its
// client offers it, and the policy of this machine lets it.
func (p Program) onOffer(call invocation) func(tool string) bool {
	var offered *[]string
	if call.tools != nil {
		offered = call.tools.tools.Load()
	}
	c, err := config.Load(p.ConfigPath, false)
	if err != nil {
		c = config.Default()
	}
	limits := !p.Root || limited(p.whoAsks(ops.Context{})) // without root, what needs it goes through sudo
	return func(tool string) bool {
		op, known := ops.ByName(tool)
		return known && (offered == nil || slices.Contains(*offered, tool)) && refused(c.Policy, op, limits, true) == nil
	}
}
