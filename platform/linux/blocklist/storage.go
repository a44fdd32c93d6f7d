// SPDX-License-Identifier: Apache-2.0

//go:build linux

package blocklist

import (
	"context"
	"errors"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"

	"sentinel/internal/blocklist"
	"sentinel/internal/sanitize"
	"sentinel/platform/linux/mounts"
	"sentinel/platform/unix/hostfile"
)

// remoteFS are the file systems of the kernel whose super block options or source hold the address of
// their server, as it was resolved (nfs_show_mountd_options in fs/nfs/super.c, cifs_show_address in
// fs/smb/client/cifsfs.c). FUSE is not among them: what a user mounts there has any name.
var remoteFS = []string{"nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "afs"}

const maxMounted = 60 // characters of a mount point in a sentence

// storage lists the servers of mounted file systems and of disks over the network. Without them
// whatever touches those waits in the kernel, a login with its home there included.
func (s *HostContext) storage(context.Context) ([]blocklist.ProtectedAddr, error) {
	table, err := mounts.New(s.root).Table()
	if hostfile.Missing(err) {
		table, err = nil, nil
	}
	var list []blocklist.ProtectedAddr
	for _, m := range table {
		if !slices.Contains(remoteFS, m.FSType) {
			continue
		}
		for _, a := range servers(m) {
			list = append(list, blocklist.Protect(a, "a server of the file system at "+sanitize.Quoted(mounts.PlaceOf(m), maxMounted)))
		}
	}
	disks, diskErr := s.diskServers()
	return append(list, disks...), errors.Join(err, diskErr)
}

// servers returns the addresses in the options of a mount, and of a source such as
// "192.0.2.1:6789,192.0.2.2:6789:/" or "192.0.2.1:/export".
func servers(m *mountinfo.Info) (found []netip.Addr) {
	for option := range strings.SplitSeq(m.VFSOptions, ",") {
		name, value, _ := strings.Cut(option, "=")
		if name == "addr" || name == "mountaddr" {
			found = appendAddr(found, value)
		}
		if name == "mon_addr" { // 192.0.2.1:6789/192.0.2.2:6789 (mount.ceph(8))
			for one := range strings.SplitSeq(value, "/") {
				found = appendAddr(found, one)
			}
		}
	}
	for one := range strings.SplitSeq(m.Source, ",") {
		found = appendAddr(found, strings.TrimRight(strings.SplitN(one, ":/", 2)[0], ":"))
	}
	return found
}

// appendAddr adds the address that a text begins with: alone, in brackets, or with a port.
func appendAddr(list []netip.Addr, text string) []netip.Addr {
	a, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if with, portErr := netip.ParseAddrPort(text); portErr == nil {
		a, err = with.Addr(), nil
	}
	if err != nil || a.IsUnspecified() || slices.Contains(list, a) {
		return list
	}
	return append(list, a)
}

// maxDisks bounds the connections of each kind that are looked at.
const maxDisks = 1000

// diskServers lists the other ends of iSCSI (drivers/scsi/scsi_transport_iscsi.c) and of NVMe over
// fabrics, whose address is "traddr=192.0.2.1,trsvcid=4420" (nvmf_get_address in
// drivers/nvme/host/fabrics.c).
func (s *HostContext) diskServers() (list []blocklist.ProtectedAddr, err error) {
	for _, kind := range []struct{ class, file, what string }{
		{"iscsi_connection", "persistent_address", "the iSCSI server of a disk"},
		{"iscsi_connection", "address", "the iSCSI server of a disk"},
		{"nvme", "address", "the NVMe server of a disk"},
	} {
		class := filepath.Join(s.root, "sys", "class", kind.class)
		names, nameErr := hostfile.Names(class, maxDisks)
		if nameErr != nil && !hostfile.Missing(nameErr) {
			err = errors.Join(err, nameErr)
		}
		for _, name := range names {
			text, textErr := hostfile.Text(filepath.Join(class, name, kind.file))
			if textErr != nil { // that of a disk inside, or one that is gone
				continue
			}
			first, _, _ := strings.Cut(text, ",")
			for _, a := range appendAddr(nil, strings.TrimPrefix(first, "traddr=")) {
				list = append(list, blocklist.Protect(a, kind.what))
			}
		}
	}
	return list, err
}
