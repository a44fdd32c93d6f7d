// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"strings"
)

// A Socket is one line of /proc/net/{tcp,tcp6,udp,udp6,udplite,udplite6}.
type Socket struct {
	Local, Remote netip.AddrPort
	State         uint8 // TCP state of include/net/tcp_states.h, 1 to 12
	Inode         uint64
	UID           int // who made it
}

// Sockets calls visit for each line of /proc/net/<table>; table is tcp, udp, udplite or raw, or one
// of these with a 6, of which a raw socket has the number of its protocol for a port. It is the fallback
// where sock_diag is not allowed. A missing table of IPv6 or UDP-Lite, as on a kernel without, has no
// sockets.
func (fs FS) Sockets(table string, visit func(Socket)) error {
	path, err := fs.path("net", table)
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if os.IsNotExist(err) && (strings.HasSuffix(table, "6") || table == "udplite") {
		return nil
	}
	if err != nil {
		return fs.named(err, "net", table)
	}
	defer f.Close() //nolint:errcheck // only read from
	scan := bufio.NewScanner(f)
	for row := 0; scan.Scan(); row++ {
		if row == 0 {
			continue
		}
		s, err := parseSocket(scan.Bytes())
		if err != nil {
			return fmt.Errorf("%s line %d: %w", fs.name("net", table), row+1, err)
		}
		visit(s)
	}
	return scan.Err()
}

// parseSocket parses "sl local rem st queues tr retrnsmt uid timeout inode".
func parseSocket(line []byte) (Socket, error) {
	fields := bytes.Fields(line)
	if len(fields) < 11 { // one more than is read, so that the inode is complete
		return Socket{}, ErrFormat
	}
	local, err := parseHexAddress(fields[1])
	if err != nil {
		return Socket{}, err
	}
	remote, err := parseHexAddress(fields[2])
	if err != nil {
		return Socket{}, err
	}
	var state [1]byte
	if n, err := hex.Decode(state[:], fields[3][:min(2, len(fields[3]))]); err != nil || n != 1 {
		return Socket{}, fmt.Errorf("state: %w", ErrFormat)
	}
	inode, ok := number(fields[9])
	if !ok {
		return Socket{}, fmt.Errorf("inode: %w", ErrFormat)
	}
	uid, ok := number(fields[7])
	if !ok {
		return Socket{}, fmt.Errorf("uid: %w", ErrFormat)
	}
	return Socket{Local: local, Remote: remote, State: state[0], Inode: inode, UID: int(uid)}, nil
}

// parseHexAddress parses 0100007F:0016: 32-bit words in host byte order, and the port in plain
// hexadecimal.
func parseHexAddress(b []byte) (netip.AddrPort, error) {
	address, port, _ := bytes.Cut(b, []byte(":"))
	var raw [16]byte
	var p [2]byte
	if len(address) != 8 && len(address) != 32 || len(port) != 4 {
		return netip.AddrPort{}, fmt.Errorf("address: %w", ErrFormat)
	}
	n, err := hex.Decode(raw[:], address)
	if _, perr := hex.Decode(p[:], port); err != nil || perr != nil {
		return netip.AddrPort{}, fmt.Errorf("address: %w", ErrFormat)
	}
	for i := 0; i < n; i += 4 {
		word := binary.BigEndian.Uint32(raw[i:])
		binary.NativeEndian.PutUint32(raw[i:], word)
	}
	ip, _ := netip.AddrFromSlice(raw[:n])
	return netip.AddrPortFrom(ip, binary.BigEndian.Uint16(p[:])), nil
}
