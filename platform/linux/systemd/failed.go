// SPDX-License-Identifier: Apache-2.0

//go:build linux

package systemd

import (
	"context"
	"fmt"

	"sentinel/internal/health"
)

// FailedUnits lists the units in state failed; see [Connect] for root.
func FailedUnits(ctx context.Context, root string) ([]health.Unit, error) {
	conn, err := Connect(ctx, root)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	found, err := conn.ListUnitsFilteredContext(ctx, []string{"failed"})
	if err != nil {
		return nil, fmt.Errorf("systemd does not answer: %w", err)
	}
	units := make([]health.Unit, 0, len(found))
	for _, u := range found {
		units = append(units, health.Unit{Name: u.Name, Description: u.Description})
	}
	return units, nil
}
