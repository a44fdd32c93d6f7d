// SPDX-License-Identifier: Apache-2.0

package assets

import (
	"context"
	"math"
	"time"

	"sentinel/internal/answer"
	"sentinel/internal/sanitize"
)

// DefaultLimit is how many rows each list has unless the caller sets a limit.
const DefaultLimit = 50

// maxCoreKinds caps the kinds of cores. No processor has more than three.
const maxCoreKinds = 8

// maxText caps a text from the host, in characters.
const maxText = 100

// Options control an inventory.
type Options struct {
	Limit    int       // rows of each list; 0 means all
	Brief    bool      // no larger than a program takes, with up to DefaultLimit rows
	Firewall string    // ACTIVE, DISABLED or UNKNOWN, as package firewall found it
	Now      time.Time // of last_updated; the zero time means now
}

// Collect takes the inventory. Values that cannot be read are in Unavailable; the
// only error is that of ctx. With up to DefaultLimit rows the document stays under
// 19 KB, and a brief one under 8 KB; lists are cut further if necessary.
func Collect(ctx context.Context, src Source, o Options) (Result, error) {
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	c := collector{limit: o.Limit, budget: budget}
	if o.Brief {
		c.budget = briefBudget
	}
	c.machine(src.Machine(ctx))
	c.system(src.System(ctx))
	c.protections(src.Protections(ctx))
	c.asset.Security.Firewall = sanitize.Text(o.Firewall, maxText)
	if o.Firewall == "" {
		c.gaps.Note("security.firewall", "not looked at")
	}
	c.interfaces(src.Interfaces(ctx))
	c.volumes(ctx, src)
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	c.asset.LastUpdated = o.Now.UTC().Format(time.RFC3339)
	return c.result(), nil
}

// A collector fills one Asset and notes what is missing.
type collector struct {
	asset  Asset
	gaps   answer.Gaps
	limit  int
	budget int // bytes
}

func (c *collector) result() Result {
	r := Result{Asset: c.asset, Unavailable: c.gaps}
	if r.Unavailable == nil {
		r.Unavailable = []answer.Gap{}
	}
	if c.limit > 0 && c.limit <= DefaultLimit {
		fit(&r, c.budget)
	}
	return r
}

func (c *collector) machine(m Machine) {
	h := &c.asset.Hardware
	h.Model = c.text("hardware.model", m.Model)
	h.Vendor = c.text("hardware.vendor", m.Vendor)
	h.Chip = c.text("hardware.chip", m.Chip)
	c.asset.SerialNumber = c.text("serial_number", m.Serial)
	h.Cores = known(c, "hardware.cores", m.Cores)
	h.CoresPhysical = known(c, "hardware.cores_physical", m.CoresPhysical)
	c.gaps.Add("hardware.core_kinds", m.CoreKindsErr)
	for _, k := range m.CoreKinds[:min(len(m.CoreKinds), maxCoreKinds)] {
		h.CoreKinds = append(h.CoreKinds, Cores{sanitize.Text(k.Name, 32), k.Cores})
	}
	h.Sockets = known(c, "hardware.sockets", m.Sockets)
	c.memory(m)
	c.asset.Container = sanitize.Text(m.Container, maxText)
	if m.Virtualization.Err != nil {
		c.gaps.Add("virtualization", m.Virtualization.Err)
	}
	c.asset.Virtualization = sanitize.Text(m.Virtualization.Value, maxText)
}

func (c *collector) memory(m Machine) {
	h := &c.asset.Hardware
	h.MemoryBytes = known(c, "hardware.memory_bytes", m.MemoryTotal)
	if h.MemoryBytes == nil {
		c.gaps.Note("hardware.memory_used_bytes", "the size of memory is not known")
		return
	}
	h.MemoryGB = gibibytes(*h.MemoryBytes)
	available := known(c, "hardware.memory_used_bytes", m.MemoryAvailable)
	if available == nil {
		return
	}
	used := *h.MemoryBytes - min(*available, *h.MemoryBytes)
	h.MemoryUsedBytes, h.MemoryUsedGB = &used, gibibytes(used)
}

func gibibytes(bytes uint64) *int {
	n := int(math.Round(float64(bytes) / (1 << 30)))
	return &n
}

func (c *collector) system(s System) {
	c.asset.Hostname = sanitize.Text(s.Hostname, 253)
	if c.asset.Hostname == "" {
		c.missing("hostname", nil)
	}
	if s.MachineID.Err != nil || s.MachineID.Value == [16]byte{} {
		c.missing("asset_id", s.MachineID.Err)
	} else {
		c.asset.AssetID = assetID(s.MachineID.Value)
	}
	o := &c.asset.OS
	o.Name = c.text("os.name", s.Name)
	o.Version = c.text("os.version", s.Version)
	o.Build = c.text("os.build", s.Build)
	o.Kernel = c.text("os.kernel", s.Kernel)
	o.Architecture = c.text("os.architecture", s.Architecture)
	if up := known(c, "os.uptime_seconds", s.Uptime); up != nil {
		seconds := int64(up.Seconds())
		o.UptimeSeconds, o.Uptime = &seconds, uptimeText(*up)
	}
}

func (c *collector) protections(p Protections) {
	s := &c.asset.Security
	s.SecureBoot = c.text("security.secure_boot", p.SecureBoot)
	if p.Mac != nil {
		c.mac(*p.Mac)
		return
	}
	s.AppArmor = c.text("security.apparmor", p.AppArmor)
	s.SELinux = c.text("security.selinux", p.SELinux)
	s.Lockdown = c.text("security.lockdown", p.Lockdown)
	if p.Profiles != nil {
		s.AppArmorEnforcing, s.AppArmorComplaining = &p.Profiles.Enforcing, &p.Profiles.Complaining
	}
	c.gaps.Add("security.apparmor_enforcing", p.ProfilesErr)
}

func (c *collector) mac(p MacProtections) {
	s := &c.asset.Security
	if sip := known(c, "security.sip_enabled", p.SIP); sip != nil {
		s.SIPEnabled = *sip
	}
	s.Gatekeeper = c.text("security.gatekeeper", p.Gatekeeper)
	s.FileVault = c.text("security.filevault", p.FileVault)
}

func (c *collector) text(field string, f Fact[string]) string {
	if f.Err != nil || f.Value == "" {
		c.missing(field, f.Err)
		return ""
	}
	return sanitize.Text(f.Value, maxText)
}

// known returns the value of a fact, or nil after noting why there is none.
func known[T comparable](c *collector, field string, f Fact[T]) *T {
	var none T
	if f.Err != nil || f.Value == none {
		c.missing(field, f.Err)
		return nil
	}
	return &f.Value
}

func (c *collector) missing(field string, err error) {
	if err == nil {
		c.gaps.Note(field, "not provided by this system")
		return
	}
	c.gaps.Add(field, err)
}
