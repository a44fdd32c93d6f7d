// SPDX-License-Identifier: Apache-2.0

package health

import "strings"

// A dead or missing sensor reads as -273 or 255 degrees; no processor runs
// outside these bounds.
const (
	minCelsius = -40
	maxCelsius = 150
)

// rank orders sensors by how surely they show the processor, best first; -1 is
// no processor at all. thermal_zone0 is often acpitz, which on many boards is a
// constant or the case.
func rank(s Sensor) int {
	chip, label := strings.ToLower(s.Chip), strings.ToLower(s.Label)
	zone := strings.ReplaceAll(chip, "-", "_")
	switch {
	case chip == "coretemp" && strings.HasPrefix(label, "package id"):
		return 0
	case (chip == "k10temp" || chip == "zenpower") && label == "tdie":
		return 1
	case (chip == "k10temp" || chip == "zenpower") && (label == "tctl" || label == ""):
		return 2
	case zone == "cpu_thermal":
		return 3
	case chip == "x86_pkg_temp":
		return 4
	case chip == "coretemp" || chip == "k10temp" || chip == "zenpower":
		return 5
	case strings.Contains(zone, "cpu") || strings.Contains(zone, "soc"):
		return 6
	case chip == "acpitz":
		return 7
	default:
		return -1
	}
}

// pick chooses the sensor to report: of the best rank, the hottest, since one
// hot package of two is what matters.
func pick(sensors []Sensor) (Sensor, bool) {
	var best Sensor
	found := -1
	for _, s := range sensors {
		r := rank(s)
		if r < 0 || s.Celsius < minCelsius || s.Celsius > maxCelsius {
			continue
		}
		if found < 0 || r < found || r == found && s.Celsius > best.Celsius {
			best, found = s, r
		}
	}
	return best, found >= 0
}
