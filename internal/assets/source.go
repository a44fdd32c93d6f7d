// SPDX-License-Identifier: Apache-2.0

// Package assets takes the inventory of this machine: hardware, operating
// system, interfaces, protections and volumes.
package assets

import (
	"context"
	"time"
)

// A Fact is one value as the platform read it. Err says why there is none; a zero
// Value without Err means that the platform does not provide it.
type Fact[T comparable] struct {
	Value T
	Err   error
}

// A Source reads the machine. Each method is called at most once per inventory,
// except Inspect, which is called once per volume, from several goroutines.
type Source interface {
	// Machine reads the hardware, real or virtual.
	Machine(ctx context.Context) Machine
	// System reads the operating system.
	System(ctx context.Context) System
	// Protections reads how the system is protected.
	Protections(ctx context.Context) Protections
	// Interfaces lists the network interfaces in the platform's order. With an
	// error, the list holds what could be read.
	Interfaces(ctx context.Context) ([]Link, error)
	// Volumes lists the local file systems, the root first. With an error, the list
	// holds what could be read; nil is nothing.
	Volumes(ctx context.Context) ([]Volume, error)
	// Inspect finds how full a volume is and whether it is encrypted. It returns in
	// bounded time even if the volume does not answer.
	Inspect(ctx context.Context, v Volume) VolumeState
}

// A Machine is the hardware, real or virtual.
type Machine struct {
	Model, Vendor   Fact[string]
	Serial          Fact[string]
	Chip            Fact[string]
	Cores           Fact[int] // logical: hardware threads
	CoresPhysical   Fact[int]
	CoreKinds       []CoreKind // where a machine has several; nil where it has one, or none is known
	CoreKindsErr    error      // why the kinds of a machine that has several are not known
	Sockets         Fact[int]
	MemoryTotal     Fact[uint64] // bytes
	MemoryAvailable Fact[uint64] // bytes that can be allocated without swapping
	Container       string       // type of the container this system runs in; "" for none
	Virtualization  Fact[string] // hypervisor; "" without error on hardware
}

// A CoreKind counts the cores of one kind.
type CoreKind struct {
	Name  string // as the platform has it: "Performance"
	Cores int
}

// A System is the operating system.
type System struct {
	Hostname     string
	MachineID    Fact[[16]byte] // confidential: only values derived from it are shown
	Name         Fact[string]
	Version      Fact[string]
	Build        Fact[string]
	Kernel       Fact[string]
	Architecture Fact[string]
	Uptime       Fact[time.Duration]
}

// Protections is how the system is protected, in the words of the platform.
type Protections struct {
	SecureBoot Fact[string]
	// Mac holds the fields of macOS; nil on Linux, which has the other fields.
	Mac      *MacProtections
	AppArmor Fact[string]
	Profiles *Profiles // of AppArmor; nil when it is not enabled or the profiles are unknown
	// ProfilesErr says why the profiles are unknown although AppArmor is enabled.
	ProfilesErr error
	SELinux     Fact[string]
	Lockdown    Fact[string]
}

// MacProtections is how macOS is protected.
type MacProtections struct {
	// SIP says whether all of System Integrity Protection is on.
	SIP        Fact[*bool]
	Gatekeeper Fact[string] // "enabled" or "disabled"
	FileVault  Fact[string] // "on", "off", "encrypting", "decrypting", "deferred" or "restart"
}

// Profiles counts the loaded AppArmor profiles by mode.
type Profiles struct {
	Enforcing, Complaining int
}

// A Link is one network interface.
type Link struct {
	Name      string
	MAC       string // "" when it has none
	Port      string // what macOS calls its hardware port: "Wi-Fi"; "" when it has none
	MTU       int    // bytes; 0 when unknown
	Up        bool   // carries traffic
	Loopback  bool
	SpeedMbps int      // 0 when unknown, as for most virtual interfaces
	Addresses []string // with prefix length: "192.0.2.5/24"
}

// A Volume is one mounted local file system.
type Volume struct {
	Device     string
	Mountpoint string // "" where it is longer than a system call takes
	FileSystem string
	ReadOnly   *bool  // nil is unknown
	Number     string // number of the device, as the platform writes it: "259:2"
	Pool       string // pool, such as an APFS container, whose space it shares with other volumes; "" for none
}

// A VolumeState is what only the volume itself can tell.
type VolumeState struct {
	Size, Used   uint64 // bytes
	UsageErr     error  // why Size and Used are unknown
	Encrypted    bool
	EncryptedErr error // why Encrypted is unknown
}
