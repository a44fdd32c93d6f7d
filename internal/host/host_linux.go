// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"

	"sentinel/internal/blocklist"
	"sentinel/internal/sysexec"
	"sentinel/platform/linux/blocking"
	"sentinel/platform/linux/connections"
	"sentinel/platform/linux/inventory"
	"sentinel/platform/linux/netfilter"
	"sentinel/platform/linux/processes"
	"sentinel/platform/linux/systemd"
	"sentinel/platform/linux/vitals"
	"sentinel/platform/linux/wall"
)

// Open assembles Linux below root, "/" on a live system. Nothing is read yet.
func Open(root string) (*Host, error) {
	table := processes.New(root)
	runner := sysexec.Host{}
	rules := netfilter.New(root, runner)
	front := wall.New(runner)
	return &Host{
		Health:    vitals.Sources(root),
		Processes: table,
		StartID:   table.StartID,
		Network:   connections.New(root),
		Firewall:  rules,
		Assets:    inventory.New(root),

		Live:       root == "/",
		Terminator: processes.NewTerminator(root),
		Services:   systemd.NewServices(root, runner),
		Wall:       front,
		Blocking: Blocking{
			Backend:         func(ctx context.Context) (blocklist.Backend, error) { return blocking.Choose(ctx, runner) },
			Around:          blocking.NewSurroundings(root),
			Cut:             blocking.Cutter{},
			Baseline:        func(ctx context.Context) (bool, error) { return front.Restore(ctx, rules) },
			BaselineMissing: func(ctx context.Context) (bool, error) { return front.Missing(ctx, rules) },
		},
	}, nil
}
