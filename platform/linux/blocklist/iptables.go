// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/go-iptables/iptables"

	"sentinel/internal/blocklist"
	"sentinel/internal/fault"
	"sentinel/internal/privilege"
	"sentinel/internal/sanitize"
	"sentinel/internal/sysexec"
)

const (
	// lockTimeout is how long the programs wait for the lock of x_tables, in
	// seconds. It is long enough for a firewall to load its rules.
	lockTimeout = 5
	// restoreTimeout bounds one change.
	restoreTimeout = 10 * time.Second
	// maxAddresses add less than 15 µs to each packet, which every rule is compared
	// with.
	maxAddresses = 300
)

// Iptables is the backend over the programs of iptables(8): a chain of its own, to
// which the built-in ones jump first. Every change is one run of iptables-restore for each
// family, which is atomic. Two runs at once may leave a rule twice, and lose one only where they find
// a chain with rules that are not ours, which is emptied.
type Iptables struct {
	runner  sysexec.Runner
	variant string
	dirs    []string
}

var _ blocklist.Backend = (*Iptables)(nil)

// NewIptables returns the backend of a variant: "nft" and "legacy" name the
// programs iptables-nft and iptables-legacy, the empty one is the system's choice.
func NewIptables(runner sysexec.Runner, variant string) *Iptables {
	return &Iptables{runner: runner, variant: variant, dirs: []string{"/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/bin", "/bin"}}
}

// iptablesFamily is one protocol family of x_tables, each with programs of its own.
type iptablesFamily struct {
	program  string
	protocol iptables.Protocol
	bits     int
	name     string
}

var iptablesFamilies = []iptablesFamily{
	{"iptables", iptables.ProtocolIPv4, 32, "IPv4"},
	{"ip6tables", iptables.ProtocolIPv6, 128, "IPv6"},
}

// errMissing says that the programs of a family are not installed.
var errMissing = errors.New("not installed")

// Name implements [blocklist.Backend].
func (*Iptables) Name() string { return "iptables" }

// Abilities implements [blocklist.Backend].
func (*Iptables) Abilities() blocklist.Abilities {
	return blocklist.Abilities{Directions: []string{"in", "out", "forward"}, Most: maxAddresses, Beyond: unseen}
}

// Add implements [blocklist.Backend]. The end of a block is not kept, and each
// family is a step of its own.
func (x *Iptables) Add(ctx context.Context, blocks []blocklist.Block) error {
	blocks, err := blocklist.Distinct(blocks)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(blocks, batchSize) {
		if err := x.each(ctx, part, true, (*familyRules).add); err != nil {
			return err
		}
	}
	return nil
}

// Remove implements [blocklist.Backend].
func (x *Iptables) Remove(ctx context.Context, addresses []netip.Addr) error {
	blocks, err := blocklist.Distinct(blocklist.BlocksOf(addresses))
	if err != nil {
		return err
	}
	return x.each(ctx, blocks, false, (*familyRules).remove)
}

// each calls do for both families, each with its own addresses: Add makes the
// chains of both, so that whether the list is effective does not depend on what is in it.
// needed says that an address of a family that cannot be filtered here is an error; to remove
// one, nothing needs to be done.
func (x *Iptables) each(ctx context.Context, blocks []blocklist.Block, needed bool, do func(*familyRules, context.Context, []netip.Addr) error) error {
	type job struct {
		tables    *familyRules
		addresses []netip.Addr
	}
	var jobs []job
	for _, f := range iptablesFamilies {
		own := f.of(blocks)
		tables, err := x.open(f)
		if (len(own) == 0 || !needed) && (errors.Is(err, errMissing) || errors.Is(err, errNoFamily)) {
			continue
		}
		if err != nil {
			return unavailable(f, err)
		}
		jobs = append(jobs, job{tables, own})
	}
	// The family without addresses comes first: when interrupted in between, no
	// address is listed before the list is effective.
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Compare(len(a.addresses), len(b.addresses)) })
	for _, j := range jobs {
		if err := retryRefused(ctx, func() error { return do(j.tables, ctx, j.addresses) }); err != nil {
			return iptablesError(j.tables.iptablesFamily, err)
		}
	}
	return nil
}

// of selects the addresses of the family.
func (f iptablesFamily) of(blocks []blocklist.Block) []netip.Addr {
	var own []netip.Addr
	for _, b := range blocks {
		if b.Address.BitLen() == f.bits {
			own = append(own, b.Address)
		}
	}
	return own
}

// Loaded implements [blocklist.Backend].
func (x *Iptables) Loaded(context.Context) ([]blocklist.Block, bool, error) {
	var blocks []blocklist.Block
	effective, families := true, 0
	for _, f := range iptablesFamilies {
		tables, err := x.open(f)
		if errors.Is(err, errMissing) || errors.Is(err, errNoFamily) {
			continue
		}
		if err != nil {
			return nil, false, unavailable(f, err)
		}
		have, err := tables.read()
		if err != nil {
			return nil, false, iptablesError(f, err)
		}
		for _, a := range have.addresses() {
			blocks = append(blocks, blocklist.Block{Address: a})
		}
		effective = effective && have.effective()
		families++
	}
	return blocks, effective && families > 0, nil
}

// program returns the path of one of a family's programs: "" is the one for single
// rules, "-restore" the one for many.
func (x *Iptables) program(f iptablesFamily, suffix string) (string, error) {
	name := f.program
	if x.variant != "" {
		name += "-" + x.variant
	}
	for _, directory := range x.dirs {
		path := filepath.Join(directory, name+suffix)
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s%s: %w", name, suffix, errMissing)
}

// errNoFamily says that the kernel has the family switched off.
var errNoFamily = errors.New("switched off in the kernel")

// open finds the programs of a family and asks for their version.
func (x *Iptables) open(f iptablesFamily) (*familyRules, error) {
	if f.bits == 128 {
		if _, err := os.Stat("/proc/net/if_inet6"); errors.Is(err, os.ErrNotExist) {
			return nil, errNoFamily
		}
	}
	path, err := x.program(f, "")
	if err != nil {
		return nil, err
	}
	restore, err := x.program(f, "-restore")
	if err != nil {
		return nil, err
	}
	single, err := iptables.New(iptables.Path(path), iptables.IPFamily(f.protocol), iptables.Timeout(lockTimeout))
	if err != nil {
		return nil, err
	}
	return &familyRules{iptablesFamily: f, single: single, restore: restore, runner: x.runner}, nil
}

// familyRules are the rules of one family.
type familyRules struct {
	iptablesFamily
	single  *iptables.IPTables
	restore string
	runner  sysexec.Runner
}

// read lists our chain and the jumps to it.
func (x *familyRules) read() (ruleset, error) {
	have := newRuleset(x.bits == 128)
	var err error
	if have.exists, err = x.single.ChainExists("filter", OwnChain); err != nil {
		return have, err
	}
	for _, chain := range builtIn {
		lines, err := x.single.List("filter", chain)
		if err != nil {
			return have, err
		}
		have.noteJumps(chain, lines)
	}
	if !have.exists {
		return have, nil
	}
	lines, err := x.single.List("filter", OwnChain)
	if err != nil {
		return have, err
	}
	have.noteRules(lines)
	return have, nil
}

func (x *familyRules) add(ctx context.Context, addresses []netip.Addr) error {
	have, err := x.read()
	if err != nil {
		return err
	}
	return x.change(ctx, have.adding(addresses))
}

func (x *familyRules) remove(ctx context.Context, addresses []netip.Addr) error {
	have, err := x.read()
	if err != nil {
		return err
	}
	return x.change(ctx, have.removing(addresses))
}

// change runs commands as one step.
func (x *familyRules) change(ctx context.Context, commands []string) error {
	if len(commands) == 0 {
		return nil
	}
	script := "*filter\n" + strings.Join(commands, "\n") + "\nCOMMIT\n"
	args := []string{"--noflush"}
	if x.waits() {
		args = append(args, "--wait", strconv.Itoa(lockTimeout))
	}
	r, err := x.runner.Run(ctx, sysexec.Command{Path: x.restore, Args: args, Stdin: []byte(script), Timeout: restoreTimeout})
	if err != nil {
		return err
	}
	if r.Exit != 0 {
		return fmt.Errorf("%w: %s ended with status %d: %s", errRefused, filepath.Base(x.restore), r.Exit, sanitize.Text(string(r.Stderr), 200))
	}
	return nil
}

// errRefused says that iptables-restore changed nothing. Another program may have
// changed the same rules.
var errRefused = errors.New("refused")

// waits says whether iptables-restore knows --wait, which came with version 1.6.2.
func (x *familyRules) waits() bool {
	a, b, c := x.single.GetIptablesVersion()
	return slices.Compare([]int{a, b, c}, []int{1, 6, 2}) >= 0
}

// retryRefused repeats what failed, because iptables does not tell a transient
// failure from others.
func retryRefused(ctx context.Context, do func() error) error {
	var err error
	for range maxAttempts {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var program *iptables.Error
		if err = do(); err == nil || !errors.Is(err, errRefused) && !errors.As(err, &program) {
			return err
		}
	}
	return err
}

func unavailable(f iptablesFamily, err error) error {
	if errors.Is(err, errMissing) || errors.Is(err, errNoFamily) {
		return fault.New(fault.FirewallUnavailable, f.name+" cannot be filtered here: "+err.Error()+".").WithFix("Install nftables, or iptables with " + f.program + ".")
	}
	return iptablesError(f, err)
}

// iptablesError gives a failure its code.
func iptablesError(f iptablesFamily, err error) error {
	switch {
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case !privilege.IsRoot():
		return fault.New(fault.PermissionDenied, "Only root can use the packet filter.")
	default:
		return fault.Wrap(fault.FirewallFailed, f.program+" did not do what was asked", err)
	}
}
