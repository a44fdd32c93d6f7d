// SPDX-License-Identifier: Apache-2.0

package traceroute

import (
	"context"
	"strings"

	"sentinel/internal/sanitize"
)

// addNames looks up the names of the hops. Names that are not found in time stay
// empty.
func addNames(ctx context.Context, names Namer, hops []Hop) {
	if names == nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, namesLimit)
	defer cancel()
	type found struct {
		hop  int
		name string
	}
	results := make(chan found, len(hops))
	wanted := 0
	for i, h := range hops {
		if len(h.Addresses) == 0 {
			continue
		}
		wanted++
		go func() {
			list, err := names.LookupAddr(limited, h.Addresses[0])
			if err != nil || len(list) == 0 {
				list = []string{""}
			}
			results <- found{i, list[0]}
		}()
	}
	for range wanted {
		select {
		case f := <-results:
			hops[f.hop].Name = sanitize.Text(strings.TrimSuffix(f.name, "."), 253)
		case <-limited.Done():
			return
		}
	}
}
