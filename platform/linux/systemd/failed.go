// SPDX-License-Identifier: Apache-2.0

//go:build linux

package systemd

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"sentinel/internal/health"
)

// FailedUnits lists the units in state failed, in rows of [Fold]; see [Connect] for root.
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
	descriptions := make(map[string]string, len(found))
	for _, u := range found {
		descriptions[u.Name] = u.Description
	}
	units := make([]health.Unit, 0, len(found))
	for _, row := range Fold(slices.Sorted(maps.Keys(descriptions))) {
		u := health.Unit{Name: row[0], Description: descriptions[row[0]]}
		if len(row) > 1 {
			u.Instances = len(row)
		}
		units = append(units, u)
	}
	return units, nil
}
