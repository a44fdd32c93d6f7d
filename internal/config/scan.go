// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"net/netip"
)

// The scan engines.
const (
	EngineConnect = "connect"
	EngineNmap    = "nmap"
)

// Scan holds the settings of scan_ports.
type Scan struct {
	// Engine is connect, which is built in, or nmap.
	Engine string `yaml:"engine"`
	// Targets may be scanned in addition to this machine and its own private
	// networks.
	Targets []Network `yaml:"targets"`
	// OnlyTargets limits scans to this machine and the targets.
	OnlyTargets bool `yaml:"only_targets"`
}

func defaultScan() Scan { return Scan{Engine: EngineConnect, Targets: []Network{}} }

// Allowed returns the targets as prefixes.
func (s Scan) Allowed() []netip.Prefix {
	var list []netip.Prefix
	for _, n := range s.Targets {
		list = append(list, n.Prefix)
	}
	return list
}

func (s Scan) check() error {
	if s.Engine != EngineConnect && s.Engine != EngineNmap {
		return fmt.Errorf("scan.engine is %q; %s or %s are allowed", s.Engine, EngineConnect, EngineNmap)
	}
	return nil
}
