// SPDX-License-Identifier: Apache-2.0

package mounts

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A stack is block devices under a made-up sysfs: for each, what it lies on and
// its files.
type stack map[string]struct {
	number string
	on     []string
	files  map[string]string
	disk   string // of a partition
}

func (s stack) build(t *testing.T) *FS {
	t.Helper()
	root := t.TempDir()
	for name, d := range s {
		dir := "sys/devices/" + name
		if d.disk != "" {
			dir = "sys/devices/" + d.disk + "/" + name
			write(t, root, dir+"/partition", "1\n")
		}
		write(t, root, dir+"/dev", d.number+"\n")
		for file, content := range d.files {
			write(t, root, dir+"/"+file, content)
		}
		link(t, root, dir, "sys/class/block/"+name)
		link(t, root, dir, "sys/dev/block/"+d.number)
		if d.disk == "" {
			link(t, root, dir, "sys/block/"+name)
		}
	}
	for name, d := range s {
		for _, below := range d.on {
			link(t, root, "sys/class/block/"+below, "sys/devices/"+name+"/slaves/"+below)
		}
	}
	return New(root)
}

func link(t *testing.T, root, target, name string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, target), filepath.Join(root, name)); err != nil {
		t.Fatal(err)
	}
}

func dm(name, uuid string) map[string]string {
	return map[string]string{"dm/name": name + "\n", "dm/uuid": uuid + "\n"}
}

const luks = "CRYPT-LUKS2-00112233445566778899aabbccddeeff-root"

func workstation() stack {
	return stack{
		"sda":   {number: "8:0"},
		"sda1":  {number: "8:1", disk: "sda"},
		"sda2":  {number: "8:2", disk: "sda"},
		"sdb":   {number: "8:16"},
		"sdb1":  {number: "8:17", disk: "sdb"},
		"dm-0":  {number: "253:0", on: []string{"sda2"}, files: dm("root_crypt", luks)},
		"dm-1":  {number: "253:1", on: []string{"dm-0"}, files: dm("vg-root", "LVM-abc")},
		"dm-2":  {number: "253:2", on: []string{"dm-0", "sdb1"}, files: dm("vg-half", "LVM-def")},
		"dm-3":  {number: "253:3", on: []string{"md0"}, files: dm("data", "CRYPT-LUKS1-0-data")},
		"dm-4":  {number: "253:4", on: []string{"sda1"}, files: dm("usr", "CRYPT-VERITY-0-usr")},
		"dm-5":  {number: "253:5", on: []string{"dm-0"}, files: dm("usr2", "CRYPT-VERITY-0-usr2")},
		"dm-6":  {number: "253:6", on: []string{"sda1"}, files: dm("nameless", "")},
		"dm-7":  {number: "253:7", on: []string{"sdb1", "dm-6"}, files: dm("mixed", "LVM-ghi")},
		"dm-8":  {number: "253:8", on: []string{"dm-0"}, files: dm("root_crypt1", "part1-"+luks)},
		"dm-9":  {number: "253:9", on: []string{"sda1"}, files: dm("seal", "CRYPT-INTEGRITY-0-seal")},
		"md0":   {number: "9:0", on: []string{"sda1", "sdb1"}},
		"md1":   {number: "9:1", on: []string{"dm-0", "dm-3"}},
		"md1p1": {number: "259:0", disk: "md1"},
		"loop0": {number: "7:0", files: map[string]string{"loop/backing_file": "/srv/image\n"}},
		"dm-10": {number: "253:10", on: []string{"loop0"}, files: dm("file", "CRYPT-PLAIN-file")},
		"dm-11": {number: "253:11", on: []string{"dm-11"}, files: dm("loop", "LVM-self")},
	}
}

func TestEncryptionIsFoundThroughEveryLayer(t *testing.T) {
	fs := workstation().build(t)
	for _, c := range []struct {
		name    string
		device  Device
		want    bool
		wantErr error
	}{
		{"plain disk", Device{8, 0}, false, nil},
		{"plain partition", Device{8, 1}, false, nil},
		{"LUKS on a partition", Device{253, 0}, true, nil},
		{"LVM on LUKS", Device{253, 1}, true, nil},
		{"LVM over an encrypted and a plain disk", Device{253, 2}, false, nil},
		{"plain RAID", Device{9, 0}, false, nil},
		{"LUKS on RAID", Device{253, 3}, true, nil},
		{"RAID over two encrypted devices", Device{9, 1}, true, nil},
		{"partition of that RAID", Device{259, 0}, true, nil},
		{"verity is not encryption", Device{253, 4}, false, nil},
		{"verity on LUKS", Device{253, 5}, true, nil},
		{"integrity is not encryption", Device{253, 9}, false, nil},
		{"a map without identifier", Device{253, 6}, false, ErrUnnamedMap},
		{"one part in the clear, another unknown", Device{253, 7}, false, nil},
		{"partition inside a LUKS device", Device{253, 8}, true, nil},
		{"file system in a file", Device{7, 0}, false, ErrLoop},
		{"plain dm-crypt on a file", Device{253, 10}, true, nil},
		{"no such device", Device{8, 99}, false, ErrNoDevice},
		{"no device at all", Device{0, 50}, false, ErrNoDevice},
		{"a map on itself", Device{253, 11}, false, errTooMany},
	} {
		got, err := fs.Encrypted(Mount{Type: "ext4", Device: c.device})
		if got != c.want || !errors.Is(err, c.wantErr) {
			t.Errorf("%s: %v, %v, want %v, %v", c.name, got, err, c.want, c.wantErr)
		}
	}
}

func TestPoolsThatMayEncryptThemselvesStayUnknown(t *testing.T) {
	for _, kind := range []string{"zfs", "bcachefs"} {
		if got, err := New(t.TempDir()).Encrypted(Mount{Type: kind, Source: "pool"}); got || !errors.Is(err, ErrOwnEncryption) {
			t.Errorf("%s: %v, %v", kind, got, err)
		}
	}
}

func TestBtrfsIsEncryptedOnlyWhenEveryMemberIs(t *testing.T) {
	s := workstation()
	fs := s.build(t)
	member := func(pool string, names ...string) {
		for _, name := range names {
			link(t, fs.root, "sys/class/block/"+name, "sys/fs/btrfs/"+pool+"/devices/"+name)
		}
	}
	member("features")
	member("11111111-2222-3333-4444-555555555555", "dm-0", "dm-3")
	member("66666666-7777-8888-9999-000000000000", "dm-1", "sdb1")
	link(t, fs.root, "sys/class/block/dm-3", "dev/mapper/elsewhere")
	for _, c := range []struct {
		source  string
		want    bool
		wantErr error
	}{
		{"/dev/mapper/root_crypt", true, nil}, // found by the name of the map
		{"/dev/mapper/elsewhere", true, nil},  // by the link in /dev
		{"/dev/dm-1", false, nil},
		{"/dev/sda1", false, nil}, // in no pool: the source alone
		{"/dev/dm-10", true, nil}, // likewise
		{"/dev/mapper/gone", false, ErrNoDevice},
		{"none", false, ErrNoDevice},
	} {
		got, err := fs.Encrypted(Mount{Type: "btrfs", Source: c.source, Device: Device{0, 30}})
		if got != c.want || !errors.Is(err, c.wantErr) {
			t.Errorf("%s: %v, %v, want %v, %v", c.source, got, err, c.want, c.wantErr)
		}
	}
}

func FuzzMapIdentifier(f *testing.F) {
	for _, uuid := range []string{luks, "CRYPT-VERITY-0-x", "CRYPT-", "LVM-CRYPT-x", ""} {
		f.Add(uuid)
	}
	f.Fuzz(func(t *testing.T, uuid string) {
		if kindOf(uuid) == crypts && (len(uuid) < 6 || uuid[:6] != "CRYPT-") {
			t.Errorf("%q counted as encryption", uuid)
		}
	})
}
