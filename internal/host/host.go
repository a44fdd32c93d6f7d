// SPDX-License-Identifier: Apache-2.0

// Package host assembles the platform behind the interfaces of the domains.
// It is the only package that imports platform packages.
package host

import (
	"sentinel/internal/assets"
	"sentinel/internal/firewall"
	"sentinel/internal/health"
	"sentinel/internal/network"
	"sentinel/internal/procs"
)

// A Host gives the domains what they need from this operating system.
type Host struct {
	Health    health.Sources
	Processes procs.Source
	Network   network.Source
	Firewall  firewall.Source
	Assets    assets.Source
}
