// SPDX-License-Identifier: Apache-2.0

package firewall

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sentinel/internal/firewall"
)

// A loadedApplication is the Application Firewall, which is on.
type loadedApplication struct {
	application
}

var _ firewall.Loaded = (*loadedApplication)(nil)

// Loaded implements [firewall.Manager].
func (m *Manager) Loaded(name string) (firewall.Loaded, error) {
	if name != firewall.ApplicationFirewall {
		return nil, fmt.Errorf("there is no firewall %q", name)
	}
	return &loadedApplication{application{m: m}}, nil
}

// Allow implements [firewall.Loaded]. A plan refuses it before: the rules are about programs.
func (*loadedApplication) Allow(context.Context, []firewall.Port, func(firewall.Change) error) error {
	return errors.ErrUnsupported
}

// Disable implements [firewall.Loaded].
func (a *loadedApplication) Disable(ctx context.Context, _ func(firewall.Change) error) error {
	if err := a.m.tool.SetGlobal(ctx, false); err != nil {
		return explain(err)
	}
	ctx, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	for {
		if s, err := a.m.tool.State(ctx); err == nil && !s.On() {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(step):
		}
	}
}

// Undo implements [firewall.Pending].
func (a *loadedApplication) Undo(ctx context.Context) error { return a.m.tool.SetGlobal(ctx, true) }
