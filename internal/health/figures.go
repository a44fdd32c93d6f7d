// SPDX-License-Identifier: Apache-2.0

package health

import "slices"

// All lists every figure, in the order of the reasons.
func All() []*Figure {
	return []*Figure{
		&temperature,
		&heat,
		&cpu,
		&cpuStolen,
		&cappedUnits,
		&load,
		&memory,
		&memoryLevel,
		&swap,
		&pressureCPU,
		&pressureMemory,
		&pressureIO,
		&disk,
		&failedUnits,
		&restartingUnits,
		&oomKills,
		&firewall,
		&uptime,
		&processCount,
		&reboot,
		&readOnlyFileSystems,
		&clockUnsynchronized,
		&clockOffset,
		&clockBehind,
		&timeServiceMissing,
		&zombieProcesses,
		&failedLogins,
		&falseDaemons,
		&hiddenPrograms,
		&resolverSilent,
	}
}

// Configurable lists the figures with a threshold, in the order of the
// configuration.
func Configurable() []*Figure {
	list := startingWith(&temperature, &cpu, &memory, &swap, &disk)
	return slices.DeleteFunc(list, func(f *Figure) bool { return f.Default == Threshold{} })
}

// metered is the order of the page of Prometheus.
func metered() []*Figure {
	return startingWith(&firewall, &cpu, &load, &temperature, &pressureCPU, &memory, &swap, &disk, &uptime, &failedUnits, &processCount, &oomKills, &reboot)
}

// shown is the order of the page for people.
func shown() []*Figure {
	return startingWith(&cpu, &temperature, &heat, &memory, &swap, &pressureCPU, &firewall, &uptime, &failedUnits, &restartingUnits, &reboot)
}

// startingWith lists every figure, those given first. Where a figure has no place
// of its own it follows in the order of [All].
func startingWith(first ...*Figure) []*Figure {
	list := slices.Clone(first)
	for _, f := range All() {
		if !slices.Contains(first, f) {
			list = append(list, f)
		}
	}
	return list
}
