// SPDX-License-Identifier: Apache-2.0

package health

import (
	"math/rand/v2"
	"slices"
	"testing"

	"sentinel/internal/answer"
)

// inOrder are sensors as they are preferred, the surest first.
var inOrder = []Sensor{
	{"coretemp", "Package id 0", 41}, {"k10temp", "Tdie", 42}, {"k10temp", "Tctl", 43}, {"cpu_thermal", "", 44}, {"x86_pkg_temp", "", 45},
	{"coretemp", "Core 0", 46}, {"soc_thermal", "", 47}, {"acpitz", "", 48},
}

func TestSensorThatShowsTheProcessorMostSurelyIsPicked(t *testing.T) {
	for first := range inOrder {
		list := append(slices.Clone(inOrder[first:]), Sensor{"nvme", "Composite", 99}, Sensor{"iwlwifi_1", "", 98}, Sensor{"amdgpu", "edge", 97})
		for range 10 {
			rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			if got, ok := pick(list); !ok || got != inOrder[first] {
				t.Errorf("from %v on: %v, %v", inOrder[first], got, ok)
			}
		}
	}
}

func TestProcessorSensorsAreKnownByTheirNames(t *testing.T) {
	for _, s := range []Sensor{
		{"coretemp", "Package id 1", 50}, {"CoreTemp", "PACKAGE ID 0", 50}, {"zenpower", "Tdie", 50}, {"zenpower", "Tctl", 50}, {"k10temp", "", 50}, {"k10temp", "Tccd1", 50},
		{"cpu-thermal", "", 50}, {"cpu0-thermal", "", 50}, {"soc-thermal", "", 50}, {"soc_max_thermal", "", 50},
	} {
		if got, ok := pick([]Sensor{s}); !ok || got != s {
			t.Errorf("%v is not the processor's", s)
		}
	}
	for _, s := range []Sensor{
		{"nvme", "Composite", 50}, {"iwlwifi_1", "", 50}, {"amdgpu", "edge", 50}, {"drivetemp", "", 50}, {"BAT0", "", 50}, {"pch_cannonlake", "", 50},
		{"INT3400 Thermal", "", 50}, {"gpu-thermal", "", 50}, {"", "", 50}, {"jc42", "", 50}, {"nvme", "Tdie", 50},
	} {
		if got, ok := pick([]Sensor{s}); ok {
			t.Errorf("%v was taken for the processor's", got)
		}
	}
}

func TestHottestOfTwoPackagesIsPicked(t *testing.T) {
	for _, list := range [][]Sensor{
		{{"coretemp", "Package id 0", 60}, {"coretemp", "Package id 1", 71}, {"coretemp", "Core 3", 90}},
		{{"coretemp", "Package id 0", 71}, {"coretemp", "Package id 1", 60}, {"coretemp", "Core 3", 90}},
	} {
		if got, _ := pick(list); got.Celsius != 71 {
			t.Errorf("got %v", got)
		}
	}
	if got, _ := pick([]Sensor{{"k10temp", "Tccd1", 90}, {"cpu_thermal", "", 50.26}}); got.Chip != "cpu_thermal" {
		t.Errorf("got %v before what shows the whole processor", got)
	}
}

func TestDeadSensorsAreNoTemperatures(t *testing.T) {
	for celsius, alive := range map[float64]bool{-273.2: false, -40.1: false, -40: true, 0: true, 150: true, 150.1: false, 255: false} {
		if _, ok := pick([]Sensor{{"coretemp", "Package id 0", celsius}}); ok != alive {
			t.Errorf("%v degrees: %v", celsius, ok)
		}
	}
	if got, ok := pick([]Sensor{{"coretemp", "Package id 0", -273.2}, {"acpitz", "", 33}}); !ok || got.Chip != "acpitz" {
		t.Errorf("instead of a dead sensor: %v, %v", got, ok)
	}
}

func TestMachineWithoutSensorsHasNoTemperature(t *testing.T) {
	for _, sensors := range []*[]Sensor{{}, {{"nvme", "", 50}}} {
		gaps := answer.Gaps{}
		r := Build(Facts{Sensors: sensors}, Options{Rows: -1}, &gaps)
		if r.Thermal != nil || r.Temperature != "" || len(gaps) != 1 || gaps[0].Field != "temperature" {
			t.Errorf("got %v %q, gaps %v", r.Thermal, r.Temperature, gaps)
		}
	}
}

func TestTemperatureIsInWholeDegrees(t *testing.T) {
	for celsius, want := range map[float64]string{61.4: "61", 61.5: "62", -0.4: "0", 0: "0", -7.6: "-8"} {
		gaps := answer.Gaps{}
		r := Build(Facts{Sensors: &[]Sensor{{"coretemp", "Package id 0", celsius}}}, Options{}, &gaps)
		if r.Temperature != want || *r.Thermal.Celsius != celsius || r.Thermal.Sensor != "coretemp Package id 0" || len(gaps) != 0 {
			t.Errorf("%v: %q, %+v, gaps %v", celsius, r.Temperature, r.Thermal, gaps)
		}
	}
}
