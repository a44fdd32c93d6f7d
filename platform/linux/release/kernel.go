// SPDX-License-Identifier: Apache-2.0

package release

import (
	"sentinel/platform/unix/hostfile"
)

// A Kernel holds what uname(2) reports. A field that could not be read is empty.
type Kernel struct {
	Hostname     string // nodename
	Release      string // "6.1.0-30-amd64"
	Version      string // "#1 SMP PREEMPT_DYNAMIC Debian 6.1.124-1 (2025-01-12)"
	Architecture string // "x86_64", "aarch64"
}

// Kernel reads /proc/sys/kernel. The machine type is there since Linux 6.1; on older kernels
// uname(2) of the running kernel provides it.
func (fs FS) Kernel() (Kernel, error) {
	var k Kernel
	var first error
	for _, item := range []struct {
		name string
		to   *string
	}{
		{"osrelease", &k.Release}, {"version", &k.Version}, {"hostname", &k.Hostname},
	} {
		text, err := hostfile.Text(fs.path("proc/sys/kernel/" + item.name))
		if err != nil && first == nil {
			first = err
		}
		*item.to = text
	}
	k.Architecture = fs.architecture()
	return k, first
}

func (fs FS) architecture() string {
	arch, err := hostfile.Text(fs.path("proc/sys/kernel/arch"))
	if err != nil {
		return unameMachine()
	}
	return arch
}
