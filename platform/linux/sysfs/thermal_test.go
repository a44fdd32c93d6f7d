// SPDX-License-Identifier: Apache-2.0

package sysfs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/health"
)

func TestSensorsOfFixtureMachines(t *testing.T) {
	for host, want := range map[string][]health.Sensor{
		"laptop": {
			{Chip: "acpitz", Celsius: 16.8},
			{Chip: "nvme", Label: "Composite", Celsius: 38.85},
			{Chip: "nvme", Label: "Sensor 1", Celsius: -273.2},
			{Chip: "coretemp", Label: "Package id 0", Celsius: 61},
			{Chip: "coretemp", Label: "Core 0", Celsius: 58},
			{Chip: "coretemp", Label: "Core 1", Celsius: 61},
			{Chip: "coretemp", Label: "Core 2", Celsius: 57},
			{Chip: "coretemp", Label: "Core 3", Celsius: 59},
			{Chip: "iwlwifi_1", Celsius: 44},
			{Chip: "acpitz", Celsius: 16.8},
			{Chip: "INT3400 Thermal", Celsius: 20},
			{Chip: "x86_pkg_temp", Celsius: 62},
		},
		"raspberrypi": {{Chip: "cpu_thermal", Celsius: 54.017}, {Chip: "cpu-thermal", Celsius: 54.017}},
		"vm":          nil,
		"container":   nil,
	} {
		if diff := cmp.Diff(want, Sensors("../../../testdata/hosts/"+host)); diff != "" {
			t.Errorf("%s: %s", host, diff)
		}
	}
}

// tree writes files below a new root.
func sensorTree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, content := range files {
		path := filepath.Join(root, "sys", "class", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestSensorsThatCannotBeReadAreLeftOut(t *testing.T) {
	root := sensorTree(t, map[string]string{
		"hwmon/hwmon0/name":               "good\n",
		"hwmon/hwmon0/temp1_input":        "41000\n",
		"hwmon/hwmon0/temp2_input":        "",
		"hwmon/hwmon0/temp3_input":        "hot\n",
		"hwmon/hwmon0/temp4_input":        "99999999999\n",
		"hwmon/hwmon0/fan1_input":         "1200\n",
		"hwmon/hwmon0/temp5_input/x":      "a folder\n",
		"hwmon/hwmon1/device/name":        "old\n",
		"hwmon/hwmon1/device/temp1_input": "-12500\n",
		"hwmon/hwmon2/temp1_input":        "30000\n",
		"thermal/thermal_zone0/type":      "no temperature\n",
		"thermal/cooling_device0/type":    "Processor\n",
		"thermal/thermal_zone1/temp":      "25000\n",
	})
	want := []health.Sensor{
		{Chip: "good", Celsius: 41}, {Chip: "", Celsius: 30}, {Chip: "old", Celsius: -12.5}, {Chip: "", Celsius: 25},
	}
	if diff := cmp.Diff(want, Sensors(root)); diff != "" {
		t.Error(diff)
	}
}

func TestTemperaturesAreThousandthsOfADegree(t *testing.T) {
	for text, want := range map[string]float64{"0": 0, "61000": 61, "-273200": -273.2, "54017": 54.017, "+5": 0.005} {
		if got, ok := parseMillidegrees(text); !ok || got != want {
			t.Errorf("%q: got %v, %v", text, got, ok)
		}
	}
	for _, bad := range []string{"", " ", "61.0", "0x10", "warm", "2147483648", "61000 mC", "6_1", "٦"} {
		if got, ok := parseMillidegrees(bad); ok {
			t.Errorf("%q: got %v", bad, got)
		}
	}
}

func FuzzThermal(f *testing.F) {
	for _, s := range []string{"61000", "-273200", "", "1e3", "99999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		celsius, ok := parseMillidegrees(s)
		if ok && (celsius < -2147483.648 || celsius > 2147483.647 || strings.Trim(s, "+-0123456789") != "") {
			t.Errorf("%q is %v degrees", s, celsius)
		}
	})
}
