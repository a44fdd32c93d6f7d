// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"maps"
	"time"

	"sentinel/internal/deadline"
	"sentinel/internal/health"
	"sentinel/internal/recorder"
)

// leastAge is how old a sample must be for use to be measured since then: the kernel counts processor time
// in ticks of 10 ms.
const leastAge = time.Second

// lastSample returns the last sample of the recorder and its age, if it is of this boot and young enough.
// Only root can read it.
func (s session) lastSample(ctx context.Context) (*recorder.Last, time.Duration) {
	if !s.root || !s.host.Live || !s.config.Record.Enabled {
		return nil, 0
	}
	last, err := recorder.ReadLast(s.recordings())
	if err != nil {
		return nil, 0
	}
	boot, err := s.boot()
	if err != nil {
		return nil, 0
	}
	up, err := deadline.Call(ctx, partLimit, s.host.Health.Uptime)
	if err != nil {
		return nil, 0
	}
	age, known := last.Age(boot, up)
	if !known || age > recorder.Young {
		return nil, 0
	}
	return last, age
}

// withRecorded adds what the last sample tells to the sources of health.
func (s session) withRecorded(last *recorder.Last) health.Sources {
	sources := s.host.Health
	if last == nil || last.Resolver == nil {
		return sources
	}
	sources.Figures = maps.Clone(sources.Figures)
	if sources.Figures == nil {
		sources.Figures = map[string]health.Reader{}
	}
	sources.Figures[health.ResolverSilent] = last.Resolver.Reader()
	return sources
}
