// SPDX-License-Identifier: Apache-2.0

package thermal

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"sentinel/internal/health"
)

var (
	errTherm  = errors.New("pmset reported nothing about heat")
	errLimits = errors.New("pmset reported one limit of the processor and not the other")
	errUntold = errors.New("macOS has published no thermal state since it started; on Apple silicon root learns it from powermetrics")
)

// thermalUnknown is kIOPMThermalLevelUnknown of <IOKit/pwr_mgt/IOPM.h>: the platform does not know.
const thermalUnknown = 255

// parseTherm reads what "pmset -g therm" prints, as pmset.c of Apple's PowerManagement has it
// (show_thermal_warning_level and its two neighbours). Each of three lines of notes stands for a
// value that nothing has published since the start (kIOReturnNotFound of IOPMLib), which says
// nothing of how hot the Mac is:
//
//	Note: No thermal warning level has been recorded
//	Note: No performance warning level has been recorded
//	Note: No CPU power status has been recorded
//
// Published values come with the date before them, on the same line:
//
//	2026-08-20 05:08:37 -0700 Thermal Warning Level = 5
//	2026-08-20 05:08:37 -0700 Performance Warning Level = 100
//	2026-08-20 05:08:37 -0700 CPU Power notify
//		CPU_Scheduler_Limit 	= 100
//		CPU_Speed_Limit 	= 72
//
// "CPU Power notify" goes to standard error in some releases: then the first of its values is on
// the line of the date. "Error: " begins a line about a value that could not be read. The meaning
// of the levels is that of IOPM.h and IOPMPrivate.h of xnu; see [health.ThermalFacts].
//
// It is an error if no value was published. The first thing that could not be read is in Err.
func parseTherm(raw []byte) (health.ThermalFacts, error) {
	var facts health.ThermalFacts
	told, untold := false, false
	for line := range strings.Lines(string(raw)) {
		text := strings.TrimSpace(line)
		switch known, err := thermLine(&facts, text, strings.HasSuffix(line, "\n")); {
		case err != nil:
			facts.Err = cmp.Or(facts.Err, err)
		case known:
			told = true
		case strings.HasPrefix(text, "Note: No "):
			untold = true
		}
	}
	if (facts.SpeedLimit > 0) != (facts.SchedulerLimit > 0) {
		facts.Err = cmp.Or(facts.Err, errLimits)
	}
	switch {
	case told:
		return facts, nil
	case facts.Err != nil:
		return health.ThermalFacts{}, facts.Err
	case untold:
		return health.ThermalFacts{}, errUntold
	}
	return health.ThermalFacts{}, errTherm
}

// thermLine reads one line; known says whether it held a value. A line that does not end may have
// lost digits.
func thermLine(to *health.ThermalFacts, text string, whole bool) (known bool, err error) {
	if strings.HasPrefix(text, "Error") {
		return false, fmt.Errorf("pmset says: %s", text)
	}
	name, value, found := strings.Cut(text, "=")
	name = strings.TrimSpace(name)
	if !found {
		return false, nil
	}
	number, err := strconv.ParseUint(strings.TrimSpace(value), 10, 16)
	level, percent := int(number), int(number)
	if err != nil || !whole {
		level, percent = thermalUnknown, 0
	}
	switch {
	case strings.HasSuffix(name, "Thermal Warning Level"):
		return keepLevel(&to.WarningLevel, "thermal warning level", level)
	case strings.HasSuffix(name, "Performance Warning Level"):
		return keepLevel(&to.PerformanceLevel, "performance warning level", level)
	case strings.HasSuffix(name, "CPU_Speed_Limit"):
		return keepPercent(&to.SpeedLimit, "speed", percent)
	case strings.HasSuffix(name, "CPU_Scheduler_Limit"):
		return keepPercent(&to.SchedulerLimit, "scheduler", percent)
	}
	return false, nil
}

func keepLevel(to **int, what string, level int) (bool, error) {
	if level == thermalUnknown {
		return false, fmt.Errorf("pmset reported a %s that means nothing", what)
	}
	*to = &level
	return true, nil
}

func keepPercent(to *int, what string, percent int) (bool, error) {
	if percent <= 0 || percent > 100 {
		return false, fmt.Errorf("pmset reported a %s limit that is not a percentage", what)
	}
	*to = percent
	return true, nil
}
