// SPDX-License-Identifier: Apache-2.0

package sysfs

import (
	"io"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"sentinel/internal/health"
)

// maxSensors bounds how many sensors are read; the largest servers have a few
// hundred.
const maxSensors = 1024

// Sensors reads the temperatures of all sensors below root: hwmon
// (Documentation/hwmon/sysfs-interface.rst) and, for what hwmon does not have, thermal zones
// (Documentation/driver-api/thermal/sysfs-api.rst). A sensor that cannot be read (drivers return an
// I/O error) is left out.
func Sensors(root string) []health.Sensor {
	return append(hwmon(root), thermalZones(root)...)
}

func hwmon(root string) []health.Sensor {
	// Drivers put their files in the class directory; before kernel 3.13 some
	// had them in device/.
	inputs := append(
		glob(root, "sys/class/hwmon/hwmon*/temp*_input"),
		glob(root, "sys/class/hwmon/hwmon*/device/temp*_input")...,
	)
	var list []health.Sensor
	for _, input := range inputs {
		celsius, ok := millidegrees(input)
		if !ok {
			continue
		}
		dir := filepath.Dir(input)
		list = append(list, health.Sensor{
			Chip:    text(filepath.Join(dir, "name")),
			Label:   text(strings.TrimSuffix(input, "_input") + "_label"),
			Celsius: celsius,
		})
	}
	return list
}

func thermalZones(root string) []health.Sensor {
	var list []health.Sensor
	for _, zone := range glob(root, "sys/class/thermal/thermal_zone*") {
		if celsius, ok := millidegrees(filepath.Join(zone, "temp")); ok {
			list = append(list, health.Sensor{Chip: text(filepath.Join(zone, "type")), Celsius: celsius})
		}
	}
	return list
}

func glob(root, pattern string) []string {
	paths, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil {
		return nil
	}
	sort.Strings(paths)
	return paths[:min(len(paths), maxSensors)]
}

func millidegrees(path string) (celsius float64, ok bool) {
	return parseMillidegrees(text(path))
}

// parseMillidegrees parses thousandths of a degree Celsius.
func parseMillidegrees(s string) (celsius float64, ok bool) {
	n, err := strconv.ParseInt(s, 10, 32)
	return float64(n) / 1000, err == nil
}

// text returns the trimmed content of a small file, or "" if it cannot be read.
func text(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // only read from
	raw, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}
