// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"strings"
	"testing"

	"sentinel/internal/blocklist"
	"sentinel/internal/config"
	"sentinel/internal/host"
	"sentinel/internal/ops"
)

// A costlyFilter blocks nothing so far, and switches something off when it does.
type costlyFilter struct {
	emptyFilter
	inForce bool
	cost    string
}

func (f costlyFilter) Abilities() blocklist.Abilities { return blocklist.Abilities{SideEffect: f.cost} }

func (f costlyFilter) Loaded(context.Context) ([]blocklist.Block, bool, error) {
	return nil, f.inForce, nil
}

// An unseenSession may end with any block.
type unseenSession struct{ emptyFilter }

func (unseenSession) ProtectedAddrs(context.Context) ([]blocklist.ProtectedAddr, error) {
	return []blocklist.ProtectedAddr{{Unseen: "who is at pts/9 is not seen"}}, nil
}

// A person learns which sessions a block may end before it is made.
func TestPersonIsAskedAboutSessionsThatABlockMayEnd(t *testing.T) {
	op, _ := ops.ByName("block_ip_address")
	backend := func(context.Context) (blocklist.Backend, error) { return costlyFilter{inForce: true}, nil }
	s := session{config: config.Default(), stateDir: t.TempDir(), host: &host.Host{Blocklist: host.Blocklist{Backend: backend, Context: unseenSession{}}}}
	got, err := planBlock(t.Context(), s, invocation{op: op, args: ops.Arguments{"ip": "203.0.113.7"}})
	const want = "Sessions may end with it: who is at pts/9 is not seen."
	if err != nil || got.question != "Block it?" || !strings.HasSuffix(got.would, want) {
		t.Errorf("%q, %q, %v", got.question, got.would, err)
	}
	if p, ok := got.preview.(blocklist.BlockPreview); !ok || len(p.Warnings) != 1 || p.Warnings[0] != want {
		t.Errorf("preview: %+v", got.preview)
	}
}

// A person learns what the first block switches off before it is made.
func TestPersonIsAskedAboutWhatABlockSwitchesOff(t *testing.T) {
	op, _ := ops.ByName("block_ip_address")
	for name, c := range map[string]struct {
		filter costlyFilter
		want   string
	}{
		"the first": {costlyFilter{cost: "The relay goes off."}, "Block it?"},
		"another":   {costlyFilter{cost: "The relay goes off.", inForce: true}, ""},
		"no cost":   {costlyFilter{}, ""},
	} {
		backend := func(context.Context) (blocklist.Backend, error) { return c.filter, nil }
		s := session{config: config.Default(), stateDir: t.TempDir(), host: &host.Host{Blocklist: host.Blocklist{Backend: backend, Context: emptyFilter{}}}}
		got, err := planBlock(t.Context(), s, invocation{op: op, args: ops.Arguments{"ip": "203.0.113.7"}})
		if err != nil || got.question != c.want || strings.Contains(got.would, "The relay goes off.") != (c.want != "") {
			t.Errorf("%s: %q, %q, %v", name, got.question, got.would, err)
		}
	}
}
