// SPDX-License-Identifier: Apache-2.0

package assets

import "sentinel/internal/answer"

// A Result answers get_asset_info.
type Result struct {
	Asset       Asset        `json:"asset"`                      // what this machine is
	Unavailable []answer.Gap `json:"unavailable" schema:"brief"` // what could not be read, and why
}

// An Asset is the inventory of one machine.
type Asset struct {
	AssetID        string   `json:"asset_id,omitempty"`       // stable for this installation
	Hostname       string   `json:"hostname,omitempty"`       // the kernel's host name
	SerialNumber   string   `json:"serial_number,omitempty"`  // needs root on most machines
	Hardware       Hardware `json:"hardware"`                 // what the machine is made of
	OS             OS       `json:"os"`                       // the operating system
	Network        Network  `json:"network"`                  // the network interfaces
	Security       Security `json:"security"`                 // what protects the machine
	Storage        Storage  `json:"storage"`                  // the mounted volumes
	Container      string   `json:"container,omitempty"`      // docker, podman, kubernetes, lxc, systemd-nspawn, wsl, ...; absent outside a container
	Virtualization string   `json:"virtualization,omitempty"` // kvm, qemu, vmware, hyperv, xen, ...; absent on hardware
	LastUpdated    string   `json:"last_updated"`             // RFC 3339, UTC
}

// Hardware describes the machine. Memory is that of the machine, even in a
// container.
type Hardware struct {
	Model           string  `json:"model,omitempty"`                     // as the vendor names it
	Vendor          string  `json:"vendor,omitempty"`                    // who made it
	Chip            string  `json:"chip,omitempty"`                      // name of the processor
	Cores           *int    `json:"cores,omitempty"`                     // logical cores: hardware threads
	CoresPhysical   *int    `json:"cores_physical,omitempty"`            // physical cores, not counting their further threads
	CoreKinds       []Cores `json:"core_kinds,omitempty" schema:"brief"` // only with several kinds of cores
	Sockets         *int    `json:"sockets,omitempty"`                   // processors
	MemoryGB        *int    `json:"memory_gb,omitempty"`                 // GiB, rounded to the nearest
	MemoryBytes     *uint64 `json:"memory_bytes,omitempty"`              // what the kernel manages
	MemoryUsedGB    *int    `json:"memory_used_gb,omitempty"`            // GiB, rounded to the nearest
	MemoryUsedBytes *uint64 `json:"memory_used_bytes,omitempty"`         // memory that is not available without swapping
}

// Cores counts the cores of one kind.
type Cores struct {
	Name  string `json:"name"`  // as the system names it: "Performance", "Efficiency"
	Cores int    `json:"cores"` // how many of this kind
}

// OS is the operating system.
type OS struct {
	Name          string `json:"name,omitempty"`           // of the distribution, or macOS
	Version       string `json:"version,omitempty"`        // version of the distribution or of macOS
	Build         string `json:"build,omitempty"`          // of macOS, or of the distribution's image
	Kernel        string `json:"kernel,omitempty"`         // release of the kernel
	Architecture  string `json:"architecture,omitempty"`   // of the kernel: "x86_64", "aarch64", "arm64"
	Uptime        string `json:"uptime,omitempty"`         // for people: "3 days, 4:05"
	UptimeSeconds *int64 `json:"uptime_seconds,omitempty"` // since boot
}

// Network lists the interfaces: those that are up and have an address first.
type Network struct {
	Interfaces      []Interface `json:"interfaces,omitzero" schema:"brief"` // nil is unknown
	InterfacesTotal *int        `json:"interfaces_total,omitempty"`         // before the list was cut
	Truncated       bool        `json:"truncated"`                          // interfaces does not show all
}

// An Interface is one row of Network.
type Interface struct {
	Name           string   `json:"name"`                      // as the kernel names it: "eth0"
	Port           string   `json:"port,omitempty"`            // what macOS calls its hardware port: "Wi-Fi"
	MAC            string   `json:"mac,omitempty"`             // hardware address
	MTU            int      `json:"mtu,omitempty"`             // bytes
	State          string   `json:"state" enum:"up,down"`      // whether it carries packets
	SpeedMbps      int      `json:"speed_mbps,omitempty"`      // megabits per second; absent when the driver does not report it
	Addresses      []string `json:"addresses"`                 // "192.0.2.5/24", "2001:db8::1/64"
	AddressesTotal int      `json:"addresses_total,omitempty"` // only when addresses was cut
	Loopback       bool     `json:"loopback"`                  // connects only this machine with itself
}

// Security describes how the system is protected. Linux and macOS each have fields
// of their own.
type Security struct {
	Firewall            string `json:"firewall,omitempty" enum:"ACTIVE,DISABLED,UNKNOWN"`                                                        // UNKNOWN when it could not be read
	SecureBoot          string `json:"secure_boot,omitempty" enum:"enabled,disabled,setup mode,unsupported,full,reduced,permissive,medium,none"` // from full to none: the levels of macOS
	SIPEnabled          *bool  `json:"sip_enabled,omitempty"`                                                                                    // all of System Integrity Protection
	Gatekeeper          string `json:"gatekeeper,omitempty" enum:"enabled,disabled"`                                                             // macOS checks programs before they first run
	FileVault           string `json:"filevault,omitempty" enum:"on,off,encrypting,decrypting,deferred,restart"`                                 // deferred: on at the next login or logout; restart: on after the next restart
	AppArmor            string `json:"apparmor,omitempty" enum:"enabled,disabled,unsupported"`                                                   // whether the kernel enforces profiles of AppArmor
	AppArmorEnforcing   *int   `json:"apparmor_enforcing,omitempty"`                                                                             // profiles whose violations are blocked; needs root
	AppArmorComplaining *int   `json:"apparmor_complaining,omitempty"`                                                                           // profiles whose violations are only logged; needs root
	SELinux             string `json:"selinux,omitempty" enum:"enforcing,permissive,disabled"`                                                   // mode of SELinux
	Lockdown            string `json:"lockdown,omitempty" enum:"none,integrity,confidentiality,unsupported"`                                     // kernel_lockdown(7)
	DiskEncryption      *bool  `json:"disk_encryption,omitempty"`                                                                                // of the root file system, by dm-crypt or FileVault
}

// Storage lists the local file systems, the root first, shallow paths before deep
// ones. Volumes of one pool share its space: count their size once per pool.
type Storage struct {
	Volumes      []VolumeRow `json:"volumes,omitzero" schema:"brief"` // nil is unknown
	VolumesTotal *int        `json:"volumes_total,omitempty"`         // before the list was cut
	Truncated    bool        `json:"truncated"`                       // volumes does not show all
}

// A VolumeRow is one row of Storage.
type VolumeRow struct {
	Device     string  `json:"device"`               // the device that is mounted
	Mountpoint string  `json:"mountpoint"`           // where it is mounted; "" where that path is longer than a system call takes
	FileSystem string  `json:"filesystem"`           // type of the file system
	SizeBytes  *uint64 `json:"size_bytes,omitempty"` // absent when the file system did not answer
	UsedBytes  *uint64 `json:"used_bytes,omitempty"` // absent when the file system did not answer
	ReadOnly   *bool   `json:"read_only,omitempty"`  // mounted read-only
	Encrypted  *bool   `json:"encrypted,omitempty"`  // absent when unknown
	Pool       string  `json:"pool,omitempty"`       // APFS container whose space it shares
}
