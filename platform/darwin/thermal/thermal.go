// SPDX-License-Identifier: Apache-2.0

// Package thermal reads the heat of a Mac: the temperature of the processor's die, if a sensor
// reports it, and the thermal pressure, the degree to which macOS throttles because of heat.
package thermal

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"sentinel/internal/health"
	"sentinel/internal/sysexec"
	"sentinel/platform/darwin/plist"
	"sentinel/platform/darwin/sensors"
)

// Where macOS has its programs.
const (
	powermetrics = "/usr/bin/powermetrics"
	pmset        = "/usr/bin/pmset"
)

const (
	// limit is less than half of the three seconds that a fact may take: after a source that hangs
	// there is time for the next.
	limit     = 1400 * time.Millisecond
	waitDelay = 50 * time.Millisecond
	// maxOutput is room for a sample of powermetrics with all samplers.
	maxOutput = 1 << 20
)

// A Reader runs the programs that report heat.
type Reader struct {
	Runner     sysexec.Runner
	Executable string // path of this program; see package sensors
	Root       bool   // only root may run powermetrics
	// AppleSilicon decides which samplers powermetrics has.
	AppleSilicon func(context.Context) bool
}

// Sensors returns the temperatures of the processor, or none if no sensor reports one. On Intel it
// falls back to powermetrics, which needs root, if the sensors cannot be read.
func (r Reader) Sensors(ctx context.Context) ([]health.Sensor, error) {
	readings, err := sensors.Read(ctx, r.Runner, r.Executable)
	list := ofProcessor(readings)
	if len(list) > 0 || !r.Root || r.AppleSilicon(ctx) {
		return list, err
	}
	raw, smcErr := r.run(ctx, powermetrics, "-n", "1", "-i", "200", "--samplers", "smc")
	switch {
	case smcErr != nil && err != nil:
		return nil, fmt.Errorf("%w, and %w", err, smcErr)
	case smcErr != nil:
		return nil, smcErr
	}
	if celsius, ok := dieTemperature(raw); ok {
		return []health.Sensor{{Chip: "CPU die", Celsius: celsius}}, nil
	}
	return nil, err
}

// A dead sensor reads as 0, -127 or thousands of degrees below or above.
const (
	minCelsius = -40
	maxCelsius = 150
)

func plausible(celsius float64) bool {
	return celsius >= minCelsius && celsius <= maxCelsius && celsius != 0
}

// ofProcessor selects the sensors of the processor and gives them the name that [health] expects.
// An SMC key that the machine lacks reads as 0, and a key with another data type as a whole number
// that means something else; the type that is decoded correctly has steps of 1/256 degree, so
// skipping whole numbers loses little.
func ofProcessor(readings []sensors.Reading) []health.Sensor {
	var list []health.Sensor
	for _, r := range readings {
		chip, smc := processorPart(r.Name)
		if chip == "" || !plausible(r.Celsius) || smc && r.Celsius == math.Trunc(r.Celsius) {
			continue
		}
		list = append(list, health.Sensor{Chip: chip, Label: r.Name, Celsius: r.Celsius})
	}
	return list
}

// processorPart returns the part of the processor that a sensor measures, or "" if it is elsewhere. On
// Apple silicon "PMU tdie1" and similar names are on the die, and the M1 names its core clusters
// ("pACC MTR Temp Sensor2"). On Intel the SMC names a CPU's diode TC0D, its heatsink TC0H and its
// proximity sensor TC0P.
func processorPart(name string) (chip string, smc bool) {
	smc = len(name) == 4 && name[0] == 'T'
	switch {
	case smc && strings.HasPrefix(name, "TC") && strings.HasSuffix(name, "D"):
		return "CPU die", true
	case smc && strings.HasPrefix(name, "TC"):
		return "CPU", true
	case strings.Contains(name, "tdie"), strings.HasPrefix(name, "pACC MTR Temp"), strings.HasPrefix(name, "eACC MTR Temp"):
		return "CPU die", false
	}
	return "", smc
}

// Pressure returns what macOS does because of heat. On Apple silicon powermetrics reports the
// thermal pressure to root; otherwise pmset reports to everybody what macOS has published since it
// started: the thermal warning level, the performance warning level, and the limits of an Intel
// processor. It is an error if nothing of it is reported.
func (r Reader) Pressure(ctx context.Context) (health.ThermalFacts, error) {
	var pressureErr error
	if r.Root && r.AppleSilicon(ctx) {
		var level string
		if level, pressureErr = r.pressure(ctx); pressureErr == nil {
			return health.ThermalFacts{Level: level}, nil
		}
	}
	raw, err := r.run(ctx, pmset, "-g", "therm")
	if err != nil {
		return health.ThermalFacts{}, err
	}
	facts, err := parseTherm(raw)
	if pressureErr == nil {
		return facts, err
	}
	if err != nil {
		return facts, pressureErr
	}
	facts.Err = pressureErr
	return facts, nil
}

// pressure runs powermetrics, which needs root.
func (r Reader) pressure(ctx context.Context) (string, error) {
	raw, err := r.run(ctx, powermetrics, "-n", "1", "-i", "200", "-f", "plist", "--samplers", "thermal")
	if err != nil {
		return "", err
	}
	return pressureLevel(raw)
}

func (r Reader) run(ctx context.Context, path string, arguments ...string) ([]byte, error) {
	result, err := r.Runner.Run(ctx, sysexec.Command{Path: path, Args: arguments, Timeout: limit, WaitDelay: waitDelay, MaxOutput: maxOutput})
	if err != nil {
		return nil, err
	}
	if result.Exit != 0 {
		return nil, fmt.Errorf("%s ended with status %d", path[strings.LastIndexByte(path, '/')+1:], result.Exit)
	}
	return result.Stdout, nil
}

// dieTemperature finds "CPU die temperature: 76.93 C" in the output of the smc sampler.
func dieTemperature(raw []byte) (float64, bool) {
	for line := range strings.Lines(string(raw)) {
		value, ok := strings.CutPrefix(strings.TrimSpace(line), "CPU die temperature: ")
		if !ok {
			continue
		}
		celsius, err := strconv.ParseFloat(strings.TrimSuffix(value, " C"), 64)
		return celsius, err == nil && plausible(celsius)
	}
	return 0, false
}

var errNoLevel = errors.New("powermetrics reported no thermal pressure")

// levels are the names that powermetrics gives the levels of <libkern/OSThermalNotification.h>.
var levels = []string{"Nominal", "Moderate", "Heavy", "Trapping", "Sleeping"}

// pressureLevel returns the level of the last sample; NULs may separate samples. A level of another
// name is an error: whether the Mac is hot then is not known.
func pressureLevel(raw []byte) (string, error) {
	samples := plist.Split(raw)
	if len(samples) == 0 {
		return "", errNoLevel
	}
	var s struct {
		Level string `plist:"thermal_pressure"`
	}
	if err := plist.Decode(samples[len(samples)-1], &s); err != nil {
		return "", err
	}
	switch {
	case s.Level == "":
		return "", errNoLevel
	case !slices.Contains(levels, s.Level):
		return "", fmt.Errorf("powermetrics reported a thermal pressure without a known meaning: %s", s.Level)
	}
	return s.Level, nil
}
