// SPDX-License-Identifier: Apache-2.0

package sensors

import (
	"context"

	"github.com/shirou/gopsutil/v4/sensors"
)

// Temperatures reads the sensors: through IOHID on Apple silicon, from the SMC on Intel. It may
// crash, so only the child calls it.
func Temperatures() ([]Reading, error) {
	stats, err := sensors.TemperaturesWithContext(context.Background())
	list := make([]Reading, 0, len(stats))
	for _, s := range stats {
		list = append(list, Reading{Name: s.SensorKey, Celsius: s.Temperature})
	}
	return list, err
}
