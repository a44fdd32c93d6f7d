// SPDX-License-Identifier: Apache-2.0

package network

import "sentinel/internal/otlp"

// Observe writes how many connections there are as an OpenTelemetry Collector gets it.
func (c *Connections) Observe(m *otlp.Metrics) {
	m.Int(otlp.Instrument{Name: "system.network.connection.count", Unit: "{connection}", Description: "Connections in all states, without sockets that listen.", Kind: otlp.UpDown}, uint64(c.FlowsTotal))
	m.Int(otlp.Instrument{Name: "sentinel.network.listening", Unit: "{socket}", Description: "Sockets that wait for connections or packets.", Kind: otlp.UpDown}, uint64(c.ListeningTotal))
}

// Observe writes the counters of the busiest interfaces.
func Observe(list []Interface, m *otlp.Metrics) {
	bytes := otlp.Instrument{Name: "system.network.io", Unit: "By", Description: "Bytes of an interface.", Kind: otlp.Counter}
	errors := otlp.Instrument{Name: "system.network.errors", Unit: "{error}", Description: "Packets that arrived damaged or could not be sent.", Kind: otlp.Counter}
	drops := otlp.Instrument{Name: "system.network.packet.dropped", Unit: "{packet}", Description: "Packets that were dropped for want of space.", Kind: otlp.Counter}
	for _, i := range interfaces(nil, list, 0, InterfaceRows).Interfaces {
		in, out := direction(i, "receive"), direction(i, "transmit")
		m.Int(bytes, i.BytesRecv, in...)
		m.Int(bytes, i.BytesSent, out...)
		m.Int(errors, i.ErrorsIn, in...)
		m.Int(errors, i.ErrorsOut, out...)
		if i.DropsIn != nil {
			m.Int(drops, *i.DropsIn, in...)
		}
		if i.DropsOut != nil {
			m.Int(drops, *i.DropsOut, out...)
		}
	}
}

func direction(i InterfaceStats, name string) []otlp.Attribute {
	return []otlp.Attribute{{Key: "network.interface.name", Value: i.Name}, {Key: "network.io.direction", Value: name}}
}
