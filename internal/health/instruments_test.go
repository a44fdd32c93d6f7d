// SPDX-License-Identifier: Apache-2.0

package health

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sentinel/internal/otlp"
)

// points lists what a report writes: name, unit, attributes and value of each point.
func points(t *testing.T, r *Report) (list []string) {
	t.Helper()
	var m otlp.Metrics
	r.Observe(&m)
	raw, err := m.Body(otlp.Resource{})
	if err != nil {
		t.Fatal(err)
	}
	type numbers struct {
		DataPoints []struct {
			Attributes []struct {
				Key   string
				Value struct{ StringValue string }
			}
			AsInt    string
			AsDouble *float64
		}
	}
	var body struct {
		ResourceMetrics []struct {
			ScopeMetrics []struct {
				Metrics []struct {
					Name, Unit string
					Gauge, Sum numbers
				}
			}
		}
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		t.Fatal(err)
	}
	for _, metric := range body.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		for _, p := range append(metric.Gauge.DataPoints, metric.Sum.DataPoints...) {
			text := metric.Name + " " + metric.Unit
			for _, a := range p.Attributes {
				text += " " + a.Key[strings.LastIndex(a.Key, ".")+1:] + "=" + a.Value.StringValue
			}
			if p.AsDouble != nil {
				p.AsInt = fmt.Sprint(*p.AsDouble)
			}
			list = append(list, text+" "+p.AsInt)
		}
	}
	return list
}

func TestFiguresForACollector(t *testing.T) {
	number := func(v float64) *float64 { return &v }
	uptime, failed, count, yes := int64(90), 2, 301, true
	kills := uint64(3)
	r := &Report{
		CPU:     &CPU{Percent: number(12.5), Cores: 4, Load1: number(0.25), Load5: number(0.5), Load15: number(1), Stolen: number(7)},
		Thermal: &Thermal{Sensor: "coretemp Package id 0", Celsius: number(51.5)},
		Memory:  &Memory{TotalBytes: 1000, UsedBytes: 250, AvailableBytes: 750, UsedPercent: 25},
		Swap:    &Swap{TotalBytes: 100, UsedBytes: 40, UsedPercent: 40},
		Disks: []Disk{
			{Mountpoint: "/", Device: "/dev/sda1", FileSystem: "ext4", SizeBytes: 1000, UsedBytes: 300, AvailableBytes: 650, UsedPercent: 31.6, InodesUsedPercent: number(3)},
			{Mountpoint: "/iso", Device: "/dev/loop1", FileSystem: "iso9660", SizeBytes: 7, UsedBytes: 7, UsedPercent: 100, ReadOnly: true},
		},
		Pressure:         map[string]Pressure{"io": {FullAvg60: number(1.5)}, "cpu": {SomeAvg60: number(2)}},
		UptimeSeconds:    &uptime,
		FailedUnitsTotal: &failed,
		OOMKillsLastDay:  &kills,
		RebootRequired:   &yes,
		FirewallStatus:   "DISABLED",
		Processes:        &count,
		readings:         map[string]Reading{ZombieProcesses: {Value: 5}, ClockUnsynchronized: {Value: 0}, ClockOffset: {Value: 0.0125}},
	}
	want := []string{
		"sentinel.firewall_disabled 1 1",
		"system.cpu.utilization 1 0.125",
		"system.cpu.logical.count {cpu} 4",
		"system.cpu.load_average.1m {thread} 0.25",
		"system.cpu.load_average.5m {thread} 0.5",
		"system.cpu.load_average.15m {thread} 1",
		"hw.temperature Cel id=coretemp Package id 0 name=coretemp Package id 0 51.5",
		"sentinel.pressure_cpu 1 0.02",
		"system.memory.limit By 1000",
		"system.memory.usage By state=used 250",
		"system.memory.utilization 1 state=used 0.25",
		"system.paging.usage By state=used 40",
		"system.paging.usage By state=free 60",
		"system.paging.utilization 1 state=used 0.4",
		"system.filesystem.limit By device=/dev/sda1 mountpoint=/ type=ext4 mode=rw 1000",
		"system.filesystem.limit By device=/dev/loop1 mountpoint=/iso type=iso9660 mode=ro 7",
		"system.filesystem.usage By device=/dev/sda1 mountpoint=/ type=ext4 mode=rw state=used 300",
		"system.filesystem.usage By device=/dev/sda1 mountpoint=/ type=ext4 mode=rw state=free 650",
		"system.filesystem.usage By device=/dev/sda1 mountpoint=/ type=ext4 mode=rw state=reserved 50",
		"system.filesystem.usage By device=/dev/loop1 mountpoint=/iso type=iso9660 mode=ro state=used 7",
		"system.filesystem.usage By device=/dev/loop1 mountpoint=/iso type=iso9660 mode=ro state=free 0",
		"system.filesystem.usage By device=/dev/loop1 mountpoint=/iso type=iso9660 mode=ro state=reserved 0",
		"system.filesystem.utilization 1 device=/dev/sda1 mountpoint=/ type=ext4 mode=rw state=used 0.316",
		"system.filesystem.utilization 1 device=/dev/loop1 mountpoint=/iso type=iso9660 mode=ro state=used 1",
		"sentinel.filesystem.inodes.utilization 1 device=/dev/sda1 mountpoint=/ type=ext4 mode=rw 0.03",
		"system.uptime s 90",
		"sentinel.failed_units {unit} 2",
		"system.process.count {process} 301",
		"sentinel.oom_kills {process} 3",
		"sentinel.reboot_required 1 1",
		"sentinel.cpu_stolen 1 0.07",
		"sentinel.pressure_io 1 0.015",
		"sentinel.clock_unsynchronized 1 0",
		"sentinel.clock_offset_seconds s 0.0125",
		"sentinel.zombie_processes {process} 5",
	}
	if got := points(t, r); !slices.Equal(got, want) {
		t.Errorf(" got %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
	if got := points(t, &Report{}); len(got) > 0 {
		t.Errorf("of what is unknown there is %q", got)
	}
}

// Space that grows with the need is never a share of a whole.
func TestSwapThatGrowsHasNoFreeSpace(t *testing.T) {
	got := points(t, &Report{Swap: &Swap{TotalBytes: 100, UsedBytes: 40, UsedPercent: 40, Grows: true}})
	if want := []string{"system.paging.usage By state=used 40"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestEveryInstrumentIsDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range All() {
		switch i := f.InstrumentOf(); {
		case i.Name == "":
		case seen[i.Name] || i.Unit == "" || !strings.HasSuffix(i.Description, ".") || f.Unit == "%" && strings.Contains(i.Description, "ercent"):
			t.Errorf("%+v", i)
		default:
			seen[i.Name] = true
		}
	}
	if len(seen) < 15 {
		t.Errorf("only %d", len(seen))
	}
}
