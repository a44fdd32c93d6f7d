// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/google/nftables"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"sentinel/internal/blocklist"
	"sentinel/internal/fault"
	"sentinel/internal/privilege"
)

const (
	// batchSize is how many addresses one transaction takes. The kernel refuses a
	// message that does not fit into the buffer of the socket.
	batchSize = 1000
	// netlinkTimeout bounds one question or transaction. The kernel answers within
	// milliseconds.
	netlinkTimeout = 10 * time.Second
	// maxAttempts bounds how often a transaction is built again because another
	// program changed the table since it was read.
	maxAttempts = 10
	// maxReads bounds how often all addresses are read, at an interval, until two
	// readings are the same.
	maxReads     = 10
	readInterval = 50 * time.Millisecond
	// maxLookups is how many addresses are asked for one by one; of more, all are
	// read.
	maxLookups = 64
)

// Nftables is the backend over netlink: sets with a time limit for each
// element, looked up by base chains that come before those of every firewall. It is safe for
// concurrent use, by several processes too: a change is one transaction.
type Nftables struct {
	// How the kernel is reached, which tests replace: for layouts and
	// transactions, and for elements.
	open func(context.Context) *nftables.Conn
	dial func(context.Context) (*netlink.Conn, error)
}

var (
	_ blocklist.Backend = Nftables{}
	_ blocklist.Finder  = Nftables{}
)

// NewNftables returns the backend for the caller's network namespace.
func NewNftables() Nftables { return Nftables{openNftables, dialNftables} }

// Name implements [blocklist.Backend].
func (Nftables) Name() string { return "nftables" }

// Abilities implements [blocklist.Backend].
func (Nftables) Abilities() blocklist.Abilities {
	return blocklist.Abilities{Expires: true, Directions: []string{"in", "out", "forward"}, Beyond: unseen}
}

// Add implements [blocklist.Backend]. A table that lost or gained rules is
// repaired in the same transaction.
func (n Nftables) Add(ctx context.Context, blocks []blocklist.Block) error {
	blocks, err := blocklist.Distinct(blocks)
	if err != nil {
		return err
	}
	there, err := n.present(ctx, blocks)
	if err != nil {
		return nftError("nftables could not be read", err)
	}
	var failed error
	for part := range slices.Chunk(blocks, batchSize) {
		if err := retry(ctx, func(attempt int) error { return n.add(ctx, part, there, attempt) }); err != nil {
			failed = errors.Join(failed, nftError("nftables did not take the change", err))
		}
	}
	return failed
}

// present says which of the addresses are there now.
func (n Nftables) present(ctx context.Context, blocks []blocklist.Block) (map[netip.Addr]bool, error) {
	addresses := make([]netip.Addr, len(blocks))
	for i, b := range blocks {
		addresses[i] = b.Address
	}
	var found []blocklist.Block
	err := retry(ctx, func(int) error {
		have, err := n.readLayout(ctx)
		if err == nil {
			found, err = n.readSome(ctx, have, addresses)
		}
		return err
	})
	there := make(map[netip.Addr]bool, len(found))
	for _, b := range found {
		there[b.Address] = true
	}
	return there, err
}

// add is one transaction. A table that cannot be repaired, or could not be in
// three attempts, is replaced as a whole.
func (n Nftables) add(ctx context.Context, blocks []blocklist.Block, there map[netip.Addr]bool, attempt int) error {
	have, err := n.readLayout(ctx)
	if err != nil {
		return err
	}
	conn := n.open(ctx)
	if have.incompatible() || attempt > 2 && !have.effective() {
		return n.rebuild(ctx, conn, have, blocks, nil)
	}
	if err := have.repair(conn); err != nil {
		return err
	}
	if err := putElements(conn, blocks, there); err != nil {
		return err
	}
	return conn.Flush()
}

// rebuild replaces the table with a new one that has the addresses of the old
// one, plus blocks, minus gone.
func (n Nftables) rebuild(ctx context.Context, conn *nftables.Conn, have layout, blocks []blocklist.Block, gone []netip.Addr) error {
	old, err := n.readWhole(ctx, have)
	if err != nil {
		return err
	}
	whole := make(map[netip.Addr]blocklist.Block, len(old)+len(blocks))
	for _, b := range append(old, blocks...) {
		whole[b.Address] = b
	}
	for _, a := range gone {
		delete(whole, a)
	}
	table := ownTable()
	conn.AddTable(table) // deleting what is not there would fail
	conn.DelTable(table)
	if err := (layout{}).repair(conn); err != nil {
		return err
	}
	var list []blocklist.Block
	for _, b := range whole {
		list = append(list, b)
	}
	for part := range slices.Chunk(list, batchSize) {
		if err := putElements(conn, part, nil); err != nil {
			return err
		}
	}
	return conn.Flush()
}

// Remove implements [blocklist.Backend].
func (n Nftables) Remove(ctx context.Context, addresses []netip.Addr) error {
	blocks, err := blocklist.Distinct(blocklist.BlocksOf(addresses))
	if err != nil {
		return err
	}
	for part := range slices.Chunk(blocks, batchSize) {
		if err := retry(ctx, func(int) error { return n.remove(ctx, part) }); err != nil {
			return nftError("nftables did not take the change", err)
		}
	}
	return nil
}

func (n Nftables) remove(ctx context.Context, blocks []blocklist.Block) error {
	have, err := n.readLayout(ctx)
	if err != nil {
		return err
	}
	conn := n.open(ctx)
	if have.incompatible() {
		var gone []netip.Addr
		for _, b := range blocks {
			gone = append(gone, b.Address)
		}
		return n.rebuild(ctx, conn, have, nil, gone)
	}
	for _, f := range families {
		elements := f.elements(blocks)
		if len(elements) == 0 || have.sets[f.set] == nil {
			continue
		}
		if err := dropElements(conn, f.ownSet(), elements); err != nil {
			return err
		}
	}
	return conn.Flush()
}

// Loaded implements [blocklist.Backend].
func (n Nftables) Loaded(ctx context.Context) ([]blocklist.Block, bool, error) {
	var blocks []blocklist.Block
	effective := false
	err := retry(ctx, func(int) error {
		have, err := n.readLayout(ctx)
		if err != nil {
			return err
		}
		effective = have.effective()
		blocks, err = n.readBlocks(ctx, have)
		return err
	})
	if err != nil {
		return nil, false, nftError("nftables could not be read", err)
	}
	return blocks, effective, nil
}

// Find implements [blocklist.Finder]. Its cost does not grow with the list.
func (n Nftables) Find(ctx context.Context, address netip.Addr) (block blocklist.Block, found, effective bool, err error) {
	err = retry(ctx, func(int) error {
		have, err := n.readLayout(ctx)
		if err != nil {
			return err
		}
		effective = have.effective()
		block, found, err = n.readBlock(ctx, have, address.Unmap())
		return err
	})
	if err != nil {
		return blocklist.Block{}, false, false, nftError("nftables could not be read", err)
	}
	return block, found, effective, nil
}

// putElements adds blocks and renews those that are there. Before Linux 6.12, adding an
// element again does not change its end, and deleting one that has ended meanwhile fails. So
// these are added, deleted and added, which from outside is one step. The others are only
// added, because a transaction waits some 10 ms until what an earlier one deleted is out of
// use.
func putElements(conn *nftables.Conn, blocks []blocklist.Block, there map[netip.Addr]bool) error {
	old := slices.DeleteFunc(slices.Clone(blocks), func(b blocklist.Block) bool { return !there[b.Address] })
	for _, f := range families {
		if elements := f.elements(old); len(elements) > 0 {
			if err := dropElements(conn, f.ownSet(), elements); err != nil {
				return err
			}
		}
		if elements := f.elements(blocks); len(elements) > 0 {
			if err := conn.SetAddElements(f.ownSet(), elements); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropElements deletes elements whether they are there or not.
func dropElements(conn *nftables.Conn, set *nftables.Set, elements []nftables.SetElement) error {
	if err := conn.SetAddElements(set, elements); err != nil {
		return err
	}
	return conn.SetDeleteElements(set, elements)
}

// retry repeats what failed because another program changed the table in
// between.
func retry(ctx context.Context, do func(attempt int) error) error {
	var err error
	for attempt := range maxAttempts {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err = do(attempt); err == nil || !isTransient(err) {
			return err
		}
	}
	return err
}

func isTransient(err error) bool {
	return slices.ContainsFunc([]error{
		unix.ENOENT, unix.EEXIST, unix.EBUSY, unix.EINTR, unix.EAGAIN, unix.EINVAL, unix.EOPNOTSUPP, errInterrupted,
	}, func(e error) bool { return errors.Is(err, e) })
}

// openNftables returns a connection that waits no longer than ctx and
// netlinkTimeout allow. Transactions of a whole table need a large buffer.
func openNftables(ctx context.Context) *nftables.Conn {
	conn, _ := nftables.New(nftables.WithSockOptions(func(c *netlink.Conn) error { //nolint:errcheck // only a lasting connection can fail
		return configure(ctx, c)
	}))
	return conn
}

const (
	sendBuffer = 32 << 20 // bytes, some 250,000 addresses
	// receiveBuffer holds what the kernel answers to all of them before the first answer is read, in bytes.
	receiveBuffer = 4 << 20
)

func configure(ctx context.Context, c *netlink.Conn) error {
	deadline := time.Now().Add(netlinkTimeout)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	if err := c.SetDeadline(deadline); err != nil {
		return err
	}
	// Otherwise a refusal carries the whole message back.
	if err := c.SetOption(netlink.CapAcknowledge, true); err != nil {
		return err
	}
	return errors.Join(c.SetWriteBuffer(sendBuffer), c.SetReadBuffer(receiveBuffer))
}

// nftError gives a failure its code.
func nftError(what string, err error) error {
	switch {
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("%s: %w", what, context.DeadlineExceeded)
	case errors.Is(err, fs.ErrPermission) && !privilege.IsRoot():
		return fault.New(fault.PermissionDenied, "Only root can use the packet filter.")
	case errors.Is(err, fs.ErrPermission):
		return fault.New(fault.FirewallFailed, "The kernel does not let even root change the packet filter here.").
			WithFix("Another program may own the table inet sentinel, which ends with it, or this container lacks CAP_NET_ADMIN. Look at: sudo nft list tables")
	case errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EPROTONOSUPPORT):
		return fault.New(fault.FirewallUnavailable, "The kernel has no nftables for IPv4 and IPv6.").WithFix("Load it with: modprobe nf_tables")
	default:
		return fault.Wrap(fault.FirewallFailed, what, err)
	}
}
