// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"maps"
	"slices"
	"time"

	"sentinel/internal/exposition"
	"sentinel/internal/firewall"
	"sentinel/internal/health"
	"sentinel/internal/version"
)

// A metered document can be shown as metrics.
type metered interface {
	metrics(p *exposition.Page)
}

// metrics are the numbers of the document. What is unknown has no sample, and is
// named by sentinel_unavailable.
func (d *healthDocument) metrics(p *exposition.Page) {
	p.Add("sentinel_info", "The program and the host that it looks at; always 1.", exposition.Gauge, 1,
		exposition.Label{Name: "version", Value: version.Number}, exposition.Label{Name: "agent_id", Value: d.AgentID}, exposition.Label{Name: "agent_uuid", Value: d.AgentUUID})
	if at, err := time.Parse(time.RFC3339, d.Timestamp); err == nil {
		p.Add("sentinel_collected_timestamp_seconds", "When the host was looked at, in seconds since 1970.", exposition.Gauge, float64(at.Unix()))
	}
	oneOf(p, "sentinel_threat_level", "How the host is doing: 1 for the level that it has.", "level", d.ThreatLevel, health.Low, health.Warning, health.Critical)
	for _, r := range d.ThreatReasons {
		p.Add("sentinel_threat_reason", "Why the level is above LOW; 1 for each reason.", exposition.Gauge, 1,
			exposition.Label{Name: "code", Value: r.Code}, exposition.Label{Name: "severity", Value: r.Severity})
	}
	oneOf(p, "sentinel_firewall_status", "Whether a firewall protects the host: 1 for the status that it has.", "status", d.FirewallStatus, firewall.Active, firewall.Disabled, firewall.Unknown)
	d.processorMetrics(p)
	d.memoryMetrics(p)
	d.diskMetrics(p)
	d.systemMetrics(p)
	for _, gap := range d.Unavailable {
		p.Add("sentinel_unavailable", "What could not be read; 1 for each field.", exposition.Gauge, 1, exposition.Label{Name: "field", Value: gap.Field})
	}
}

// oneOf writes a state: 1 for the one that is, 0 for the others.
func oneOf(p *exposition.Page, name, help, label, is string, all ...string) {
	for _, one := range all {
		p.Add(name, help, exposition.Gauge, truth(one == is), exposition.Label{Name: label, Value: one})
	}
}

func truth(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// gauge writes a number that may be unknown.
func gauge[T int | int64 | uint64 | float64](p *exposition.Page, name, help string, scale float64, value *T, labels ...exposition.Label) {
	if value != nil {
		p.Add(name, help, exposition.Gauge, float64(*value)*scale, labels...)
	}
}

func (d *healthDocument) processorMetrics(p *exposition.Page) {
	if c := d.CPU; c != nil {
		gauge(p, "sentinel_cpu_used_ratio", "Use of all cores over half a second, 0 to 1.", 0.01, c.Percent)
		if c.Cores > 0 {
			p.Add("sentinel_cpu_cores", "Cores that are online.", exposition.Gauge, float64(c.Cores))
		}
		gauge(p, "sentinel_load1", "Load average of one minute.", 1, c.Load1)
		gauge(p, "sentinel_load5", "Load average of five minutes.", 1, c.Load5)
		gauge(p, "sentinel_load15", "Load average of fifteen minutes.", 1, c.Load15)
	}
	if d.Thermal != nil {
		gauge(p, "sentinel_temperature_celsius", "The temperature that the level rests on.", 1, d.Thermal.Celsius, exposition.Label{Name: "sensor", Value: d.Thermal.Sensor})
	}
	for _, resource := range slices.Sorted(maps.Keys(d.Pressure)) {
		pressure := d.Pressure[resource]
		for _, one := range []struct {
			kind     string
			averages [2]*float64
		}{{"some", [2]*float64{pressure.SomeAvg10, pressure.SomeAvg60}}, {"full", [2]*float64{pressure.FullAvg10, pressure.FullAvg60}}} {
			for i, span := range []string{"10s", "60s"} {
				gauge(p, "sentinel_pressure_ratio", "Share of time in which tasks waited for the resource, 0 to 1.", 0.01, one.averages[i],
					exposition.Label{Name: "resource", Value: resource}, exposition.Label{Name: "kind", Value: one.kind}, exposition.Label{Name: "span", Value: span})
			}
		}
	}
}

func (d *healthDocument) memoryMetrics(p *exposition.Page) {
	if m := d.Memory; m != nil {
		p.Add("sentinel_memory_total_bytes", "Memory of the host, or of its container where that has a limit.", exposition.Gauge, float64(m.TotalBytes))
		p.Add("sentinel_memory_used_bytes", "Memory in use.", exposition.Gauge, float64(m.UsedBytes))
		p.Add("sentinel_memory_available_bytes", "Memory that can be had without swapping.", exposition.Gauge, float64(m.AvailableBytes))
	}
	if s := d.Swap; s != nil {
		p.Add("sentinel_swap_total_bytes", "Swap space.", exposition.Gauge, float64(s.TotalBytes))
		p.Add("sentinel_swap_used_bytes", "Swap space in use.", exposition.Gauge, float64(s.UsedBytes))
	}
}

func (d *healthDocument) diskMetrics(p *exposition.Page) {
	for _, disk := range d.Disks {
		labels := []exposition.Label{{Name: "mountpoint", Value: disk.Mountpoint}, {Name: "device", Value: disk.Device}, {Name: "fstype", Value: disk.FileSystem}}
		p.Add("sentinel_disk_size_bytes", "Size of a file system.", exposition.Gauge, float64(disk.SizeBytes), labels...)
		p.Add("sentinel_disk_used_bytes", "What is used of a file system.", exposition.Gauge, float64(disk.UsedBytes), labels...)
		p.Add("sentinel_disk_available_bytes", "What ordinary users can still use of a file system.", exposition.Gauge, float64(disk.AvailableBytes), labels...)
		gauge(p, "sentinel_disk_inodes_used_ratio", "Share of the inodes of a file system in use, 0 to 1.", 0.01, disk.InodesUsedPercent, labels...)
	}
}

func (d *healthDocument) systemMetrics(p *exposition.Page) {
	gauge(p, "sentinel_uptime_seconds", "Time since boot.", 1, d.UptimeSeconds)
	gauge(p, "sentinel_failed_units", "Units of the service manager in state failed.", 1, d.FailedUnitsTotal)
	gauge(p, "sentinel_processes", "Processes.", 1, d.ProcessesTotal)
	if d.OOMKills != nil {
		p.Add("sentinel_oom_kills_total", "Processes that the kernel killed for want of memory, since boot.", exposition.Counter, float64(*d.OOMKills))
	}
	if d.RebootRequired != nil {
		p.Add("sentinel_reboot_required", "Whether updates that are installed wait for a reboot.", exposition.Gauge, truth(*d.RebootRequired))
	}
	if c := d.Connections; c != nil {
		p.Add("sentinel_flows", "Connections, without those that listen.", exposition.Gauge, float64(c.FlowsTotal))
		p.Add("sentinel_listening", "Sockets that wait for connections or packets.", exposition.Gauge, float64(c.ListeningTotal))
	}
}
