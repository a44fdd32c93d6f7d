// Package host assembles the platform behind the interfaces of the domains.
// It is the only package that imports platform packages.
package host

import "sentinel/internal/assets"

// A Host gives the domains what they need from this operating system.
type Host struct {
	Assets assets.Source
}
