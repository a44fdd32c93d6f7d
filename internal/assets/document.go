// SPDX-License-Identifier: Apache-2.0

package assets

import "sentinel/internal/answer"

// A Result answers get_asset_info.
type Result struct {
	Asset       Asset        `json:"asset"`
	Unavailable []answer.Gap `json:"unavailable" schema:"brief"`
}

// An Asset is the inventory of one machine.
type Asset struct {
	AssetID        string   `json:"asset_id,omitempty"` // stable for this installation
	Hostname       string   `json:"hostname,omitempty"`
	SerialNumber   string   `json:"serial_number,omitempty"` // needs root on most machines
	Hardware       Hardware `json:"hardware"`
	OS             OS       `json:"os"`
	Network        Network  `json:"network"`
	Security       Security `json:"security"`
	Storage        Storage  `json:"storage"`
	Container      string   `json:"container,omitempty"`      // docker, podman, kubernetes, lxc, systemd-nspawn, wsl, ...; absent when it is none
	Virtualization string   `json:"virtualization,omitempty"` // kvm, qemu, vmware, hyperv, xen, ...; absent on hardware
	LastUpdated    string   `json:"last_updated"`             // RFC 3339, UTC
}

// Hardware is the machine. Memory is the machine's, also in a container.
type Hardware struct {
	Model           string  `json:"model,omitempty"`
	Vendor          string  `json:"vendor,omitempty"`
	Chip            string  `json:"chip,omitempty"`
	Cores           *int    `json:"cores,omitempty"` // logical: what runs one thread
	CoresPhysical   *int    `json:"cores_physical,omitempty"`
	CoreKinds       []Cores `json:"core_kinds,omitempty" schema:"brief"` // where there are several
	Sockets         *int    `json:"sockets,omitempty"`
	MemoryGB        *int    `json:"memory_gb,omitempty"`         // GiB, rounded to the nearest
	MemoryBytes     *uint64 `json:"memory_bytes,omitempty"`      // what the kernel manages
	MemoryUsedGB    *int    `json:"memory_used_gb,omitempty"`    // GiB, rounded to the nearest
	MemoryUsedBytes *uint64 `json:"memory_used_bytes,omitempty"` // what cannot be had without swapping
}

// Cores counts the cores of one kind.
type Cores struct {
	Name  string `json:"name"` // as the system has it: "Performance", "Efficiency"
	Cores int    `json:"cores"`
}

// OS is the operating system.
type OS struct {
	Name          string `json:"name,omitempty"`
	Version       string `json:"version,omitempty"`
	Build         string `json:"build,omitempty"`
	Kernel        string `json:"kernel,omitempty"`
	Architecture  string `json:"architecture,omitempty"`
	Uptime        string `json:"uptime,omitempty"` // for people: "3 days, 4:05"
	UptimeSeconds *int64 `json:"uptime_seconds,omitempty"`
}

// Network lists the interfaces: those that carry traffic and have an address
// first.
type Network struct {
	Interfaces      []Interface `json:"interfaces,omitzero" schema:"brief"` // nil is unknown
	InterfacesTotal *int        `json:"interfaces_total,omitempty"`
	Truncated       bool        `json:"truncated"`
}

// An Interface is one row of Network.
type Interface struct {
	Name           string   `json:"name"`
	MAC            string   `json:"mac,omitempty"`
	MTU            int      `json:"mtu,omitempty"` // bytes
	State          string   `json:"state" enum:"up,down"`
	SpeedMbps      int      `json:"speed_mbps,omitempty"`
	Addresses      []string `json:"addresses"`                 // "192.0.2.5/24", "2001:db8::1/64"
	AddressesTotal int      `json:"addresses_total,omitempty"` // only when addresses was cut
	Loopback       bool     `json:"loopback"`
}

// Security is how the system is protected. Linux and macOS each have fields of
// their own.
type Security struct {
	Firewall            string `json:"firewall,omitempty" enum:"ACTIVE,DISABLED,UNKNOWN"`
	SecureBoot          string `json:"secure_boot,omitempty" enum:"enabled,disabled,setup mode,unsupported,full,reduced,permissive,medium,none"` // from full to none: the levels of macOS
	SIPEnabled          *bool  `json:"sip_enabled,omitempty"`                                                                                    // all of System Integrity Protection
	Gatekeeper          string `json:"gatekeeper,omitempty" enum:"enabled,disabled"`
	FileVault           string `json:"filevault,omitempty" enum:"on,off,encrypting,decrypting,deferred,restart"` // deferred: on at the next login or logout; restart: on after the next restart
	AppArmor            string `json:"apparmor,omitempty" enum:"enabled,disabled,unsupported"`
	AppArmorEnforcing   *int   `json:"apparmor_enforcing,omitempty"`   // profiles whose violations are refused; needs root
	AppArmorComplaining *int   `json:"apparmor_complaining,omitempty"` // profiles whose violations are only logged; needs root
	SELinux             string `json:"selinux,omitempty" enum:"enforcing,permissive,disabled"`
	Lockdown            string `json:"lockdown,omitempty" enum:"none,integrity,confidentiality,unsupported"` // kernel_lockdown(7)
	DiskEncryption      *bool  `json:"disk_encryption,omitempty"`                                            // of the root file system, by dm-crypt or FileVault
}

// Storage lists the local file systems, the root first, shallow paths before
// deep ones. Volumes of one pool share its space: sum their sizes once a pool.
type Storage struct {
	Volumes      []VolumeRow `json:"volumes,omitzero" schema:"brief"` // nil is unknown
	VolumesTotal *int        `json:"volumes_total,omitempty"`
	Truncated    bool        `json:"truncated"`
}

// A VolumeRow is one row of Storage.
type VolumeRow struct {
	Device     string  `json:"device"`
	Mountpoint string  `json:"mountpoint"`
	FileSystem string  `json:"filesystem"`
	SizeBytes  *uint64 `json:"size_bytes,omitempty"`
	UsedBytes  *uint64 `json:"used_bytes,omitempty"`
	ReadOnly   bool    `json:"read_only"`
	Encrypted  *bool   `json:"encrypted,omitempty"` // absent when unknown
	Pool       string  `json:"pool,omitempty"`      // APFS container that it shares the sizes with
}
