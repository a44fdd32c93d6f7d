// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/jsonrpc"
)

func fixed(name string, v Verdict) Stage {
	return Stage{Name: name, Judge: func(*Message) (Verdict, error) { return v, nil }}
}

func flag(name string) Stage { return fixed(name, Verdict{Action: Review, Flags: []string{name}}) }

func later(name string, v Verdict) Stage {
	return fixed(name, Verdict{Later: func(context.Context) (Verdict, error) { return v, nil }})
}

func TestTheFirstBlockEndsItAndFlagsAddUp(t *testing.T) {
	block := Blocked(Refusal{Rule: "block"})
	for name, test := range map[string]struct {
		stages []Stage
		action Action
		flags  []string
		rule   string
	}{
		"no stage":           {nil, Allow, nil, ""},
		"flags":              {[]Stage{flag("a"), fixed("x", Verdict{}), flag("b")}, Review, []string{"a", "b"}, ""},
		"a block":            {[]Stage{flag("a"), fixed("x", block), fixed("y", Blocked(Refusal{Rule: "other"}))}, Block, nil, "block"},
		"flags after a wait": {[]Stage{flag("a"), later("b", Verdict{Action: Review, Flags: []string{"b"}}), flag("c")}, Review, []string{"a", "b", "c"}, ""},
		"two waits":          {[]Stage{later("a", Verdict{}), later("b", block)}, Block, nil, "block"},
		"a block in a wait":  {[]Stage{later("a", block), fixed("y", Blocked(Refusal{Rule: "other"}))}, Block, nil, "block"},
		"a block after one":  {[]Stage{later("a", Verdict{}), fixed("x", block)}, Block, nil, "block"},
	} {
		t.Run(name, func(t *testing.T) {
			v := Run(test.stages, &Message{Message: &jsonrpc.Message{}})
			if v.Later != nil {
				v, _ = v.Later(t.Context())
			}
			if diff := cmp.Diff(test.flags, v.Flags); v.Action != test.action || v.Refusal.Rule != test.rule || diff != "" {
				t.Errorf("%+v\n%s", v, diff)
			}
		})
	}
}

func TestARefusalHasTheFormThatItsReceiverReads(t *testing.T) {
	r := Refusal{Code: PolicyBlocks, Rule: "r1", Reason: "It was refused.", Fix: "Ask with a limit.", Event: "e-1"}
	fields := `{"guard":"sentinel-guard","code":"POLICY_BLOCKED","rule":"r1","reason":"It was refused.","fix":"Ask with a limit.","event":"e-1"}`
	for name, test := range map[string]struct{ id, method, want string }{
		"a call":          {`"x"`, "tools/call", `{"jsonrpc":"2.0","id":"x","result":{"content":[{"type":"text","text":"It was refused. Ask with a limit. Trying again will not help."}],"isError":true,"_meta":` + fields + `}}`},
		"another request": {"1.0", "prompts/get", `{"jsonrpc":"2.0","id":1.0,"error":{"code":4403,"message":"It was refused. Ask with a limit.","data":` + fields + `}}`},
		"no id":           {"", "tools/call", `{"jsonrpc":"2.0","id":null,"error":{"code":4403,"message":"It was refused. Ask with a limit.","data":` + fields + `}}`},
	} {
		var id jsonrpc.ID
		if test.id != "" {
			id = jsonrpc.ID(test.id)
		}
		if got := string(r.Answer(id, test.method)); got != test.want {
			t.Errorf("%s:\n%s\n%s", name, got, test.want)
		}
	}
}

func TestEveryCodeHasItsNumber(t *testing.T) {
	for _, code := range []Code{Malformed, TooLarge, PolicyBlocks, NoApprover, RateLimited, CircuitOpen, GuardFailed, ServerGone} {
		if numbers[code] < 4400 || numbers[code] > 4599 {
			t.Errorf("%s has the number %d", code, numbers[code])
		}
	}
}
