// SPDX-License-Identifier: Apache-2.0

//go:build linux

package truth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sentinel/internal/assets"
	"sentinel/internal/testenv"
)

// Device maps belong to the whole machine: no namespace keeps them apart. What
// sentinel says about encrypted disks is therefore tested in a machine of its
// own, with a stock kernel of Debian and made-up firmware.

// guestTools are the programs inside, with the Debian packages they are from.
var guestTools = map[string]string{
	"cryptsetup": "cryptsetup-bin", "veritysetup": "cryptsetup-bin", "lvm": "lvm2", "mdadm": "mdadm", "sfdisk": "fdisk",
	"mkfs.ext4": "e2fsprogs", "mkfs.btrfs": "btrfs-progs", "lsblk": "util-linux", "setpriv": "util-linux",
}

// guestModules are the kernel modules that the machine's disks need.
var guestModules = []string{"virtio_pci", "virtio_blk", "ext4", "btrfs", "dm-crypt", "dm-verity", "raid1", "xts", "ecb", "sha256_generic", "algif_skcipher", "algif_hash"}

// guestLinks are the programs that are another under a second name.
var guestLinks = map[string]string{
	"sh": "busybox", "mount": "busybox", "insmod": "busybox", "mkdir": "busybox", "sed": "busybox", "poweroff": "busybox",
	"vgcreate": "lvm", "lvcreate": "lvm", "lvchange": "lvm",
}

const (
	guestDisks     = 11
	guestDiskBytes = 192 << 20
	guestDeadline  = 5 * time.Minute // it is emulated, so that it needs no support of the hardware: 20 s
)

func TestInventoryOfAMachineWithEncryptedDisks(t *testing.T) {
	kernel := needGuest(t)
	out := runGuest(t, kernel, buildGuest(t, kernel))
	var root, nobody assets.Result
	decode(t, section(t, out, "root"), &root)
	decode(t, section(t, out, "nobody"), &nobody)
	t.Run("encryption", func(t *testing.T) { checkEncryption(t, root.Asset) })
	t.Run("lsblk", func(t *testing.T) { checkAgainstLsblk(t, root.Asset, section(t, out, "lsblk")) })
	t.Run("firmware", func(t *testing.T) { checkFirmware(t, root, nobody) })
}

func needGuest(t *testing.T) (kernel string) {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("the virtual machine is an x86 one")
	}
	needTool(t, "qemu-system-x86_64", "qemu-system-x86")
	needTool(t, "busybox", "busybox-static")
	needTool(t, "modprobe", "kmod")
	for tool, debian := range guestTools {
		needTool(t, tool, debian)
	}
	kernels, err := filepath.Glob("/boot/vmlinuz-*-cloud-amd64")
	if err != nil {
		t.Fatal(err)
	}
	testenv.Need(t, len(kernels) > 0, "a kernel for the virtual machine is not installed (Debian package linux-image-cloud-amd64)")
	return slices.Max(kernels)
}

// buildGuest makes the machine's initial file system: busybox, the tools with
// their libraries, the modules, and sentinel.
func buildGuest(t *testing.T, kernel string) string {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"bin", "dev", "proc", "sys", "run", "mnt", "etc", "tmp"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	copyInto(t, root, "busybox", "/bin/busybox")
	for tool := range guestTools {
		copyInto(t, root, tool, filepath.Join("/bin", tool))
	}
	for name, program := range guestLinks {
		if err := os.Symlink(program, filepath.Join(root, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	copyInto(t, root, sentinelBinary(t), "/bin/sentinel")
	copyInto(t, root, "testdata/machine.sh", "/init")
	copyModules(t, root, kernel, guestModules...)
	write(t, filepath.Join(root, "etc/os-release"), "NAME=\"Example Linux\"\nVERSION_ID=1\nBUILD_ID=7\n")
	write(t, filepath.Join(root, "etc/machine-id"), "00112233445566778899aabbccddeeff\n")
	write(t, filepath.Join(root, "etc/passwd"), "root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n")
	write(t, filepath.Join(root, "etc/group"), "root:x:0:\nnobody:x:65534:\n")
	return pack(t, root)
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

var library = regexp.MustCompile(`(?m)(?:=> |^\s+)(/\S+)`)

// copyInto copies a program and the libraries that it links.
func copyInto(t *testing.T, root, name, to string) {
	t.Helper()
	from := name
	if !strings.Contains(name, "/") {
		var err error
		if from, err = exec.LookPath(name); err != nil {
			t.Fatal(err)
		}
	}
	copyFile(t, from, filepath.Join(root, to))
	// A program without libraries has ldd fail.
	list, _ := exec.CommandContext(t.Context(), "ldd", from).Output()
	for _, found := range library.FindAllStringSubmatch(string(list), -1) {
		copyFile(t, found[1], filepath.Join(root, found[1]))
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	raw, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	// Never through a link, which may lead out of the machine's tree.
	if err := os.Remove(to); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, raw, 0o755); err != nil {
		t.Fatal(err)
	}
}

// copyModules takes the modules and what they depend on, in the order of
// loading.
func copyModules(t *testing.T, root, kernel string, modules ...string) {
	t.Helper()
	release := strings.TrimPrefix(filepath.Base(kernel), "vmlinuz-")
	var order strings.Builder
	seen := map[string]bool{}
	args := append([]string{"-S", release, "-a", "-D"}, modules...)
	for line := range strings.Lines(string(output(t, "modprobe", args...))) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "insmod" || seen[fields[1]] {
			continue // built in, or needed by several
		}
		seen[fields[1]] = true
		copyFile(t, fields[1], filepath.Join(root, fields[1]))
		fmt.Fprintln(&order, fields[1])
	}
	write(t, filepath.Join(root, "modules"), order.String())
}

func pack(t *testing.T, root string) string {
	t.Helper()
	var names bytes.Buffer
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		relative, _ := filepath.Rel(root, path)
		fmt.Fprintln(&names, relative)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "busybox", "cpio", "-o", "-H", "newc")
	cmd.Dir, cmd.Stdin = root, &names
	image := filepath.Join(t.TempDir(), "initramfs")
	write(t, image, string(finish(t, cmd)))
	return image
}

func runGuest(t *testing.T, kernel, initramfs string) string {
	t.Helper()
	args := []string{
		"-append", "console=ttyS0 quiet panic=-1 lockdown=integrity lsm=lockdown,apparmor apparmor=1",
		"-smbios", "type=1,manufacturer=Example Corp.,product=Example Station,version=To be filled by O.E.M.,serial=EXAMPLE123",
	}
	for i := range guestDisks {
		disk := filepath.Join(t.TempDir(), fmt.Sprintf("disk%d", i))
		write(t, disk, "")
		if err := os.Truncate(disk, guestDiskBytes); err != nil {
			t.Fatal(err)
		}
		args = append(args, "-drive", "if=virtio,format=raw,cache=unsafe,file="+disk)
	}
	return boot(t, kernel, initramfs, args...)
}

// boot runs a virtual machine until it switches itself off, and returns what it printed.
func boot(t *testing.T, kernel, initramfs string, more ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), guestDeadline)
	defer cancel()
	args := append([]string{
		"-accel", "tcg", "-cpu", "max", "-m", "1024", "-smp", "2,sockets=1,cores=2,threads=1", "-nodefaults", "-no-user-config",
		"-display", "none", "-serial", "stdio", "-no-reboot", "-kernel", kernel, "-initrd", initramfs,
	}, more...)
	raw, err := exec.CommandContext(ctx, "qemu-system-x86_64", args...).CombinedOutput()
	out := strings.ReplaceAll(string(raw), "\r", "")
	if err != nil || !strings.Contains(out, "\n== done\n") {
		t.Fatalf("the virtual machine: %v\n%s", err, out)
	}
	return out
}

// section returns what the machine printed under a heading.
func section(t *testing.T, out, name string) []byte {
	t.Helper()
	_, rest, ok := strings.Cut(out, "\n== "+name+"\n")
	text, _, more := strings.Cut(rest, "\n== ")
	if !ok || !more {
		t.Fatalf("the virtual machine printed no %q:\n%s", name, out)
	}
	return []byte(text)
}

func checkEncryption(t *testing.T, a assets.Asset) {
	t.Helper()
	want := map[string]string{
		"/mnt/partition": "false", "/mnt/lvm_on_luks": "true", "/mnt/luks1": "true", "/mnt/luks_on_raid": "true",
		"/mnt/lvm_half_on_luks": "false", "/mnt/btrfs_on_luks": "true", "/mnt/btrfs_half_on_luks": "false", "/mnt/verity": "false",
	}
	got := map[string]string{}
	for _, v := range a.Storage.Volumes {
		if v.Mountpoint == "/" {
			continue // in memory
		}
		got[v.Mountpoint] = "unknown"
		if v.Encrypted != nil {
			got[v.Mountpoint] = fmt.Sprint(*v.Encrypted)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("encrypted (-made +sentinel):\n%s", diff)
	}
}

// lsblkMistakes are the places where lsblk sees encryption that is not there:
// it shows a btrfs under one member alone, and calls every map that cryptsetup
// makes "crypt", those that only verify too.
var lsblkMistakes = []string{"/mnt/btrfs_half_on_luks", "/mnt/verity"}

func checkAgainstLsblk(t *testing.T, a assets.Asset, raw []byte) {
	t.Helper()
	want := parseLsblk(t, raw)
	for _, v := range a.Storage.Volumes {
		w, ok := want[v.Mountpoint]
		if v.Mountpoint == "/" {
			continue
		}
		if !ok {
			t.Errorf("lsblk does not know %s", v.Mountpoint)
			continue
		}
		if *v.SizeBytes != *w.SizeBytes || *v.UsedBytes != *w.UsedBytes {
			t.Errorf("%s: %d of %d bytes; lsblk says %d of %d", v.Mountpoint, *v.UsedBytes, *v.SizeBytes, *w.UsedBytes, *w.SizeBytes)
		}
		if *v.Encrypted != *w.Encrypted && !slices.Contains(lsblkMistakes, v.Mountpoint) {
			t.Errorf("%s: encrypted is %v; lsblk says %v", v.Mountpoint, *v.Encrypted, *w.Encrypted)
		}
	}
}

func checkFirmware(t *testing.T, root, nobody assets.Result) {
	t.Helper()
	type firmware struct {
		Vendor, Model, Serial, Virtualization, Container, AssetID, Build, SecureBoot, AppArmor, SELinux, Lockdown string
		Cores, Physical, Sockets, Profiles                                                                        int
	}
	of := func(a assets.Asset) firmware {
		return firmware{
			a.Hardware.Vendor, a.Hardware.Model, a.SerialNumber, a.Virtualization, a.Container, a.AssetID, a.OS.Build,
			a.Security.SecureBoot, a.Security.AppArmor, a.Security.SELinux, a.Security.Lockdown,
			value(a.Hardware.Cores), value(a.Hardware.CoresPhysical), value(a.Hardware.Sockets), value(a.Security.AppArmorEnforcing),
		}
	}
	want := firmware{
		Vendor: "Example Corp.", Model: "Example Station", Serial: "EXAMPLE123", Virtualization: "qemu",
		AssetID: "d808e482-c3ab-42f7-be8b-163d40c9821c", Build: "7", SecureBoot: "unsupported", AppArmor: "enabled", SELinux: "disabled",
		Lockdown: "integrity", Cores: 2, Physical: 2, Sockets: 1,
	}
	if diff := cmp.Diff(want, of(root.Asset)); diff != "" {
		t.Errorf("root (-made +sentinel):\n%s", diff)
	}
	want.Serial, want.Profiles = "", -1
	if diff := cmp.Diff(want, of(nobody.Asset)); diff != "" {
		t.Errorf("nobody (-made +sentinel):\n%s", diff)
	}
	reasons := map[string]string{}
	for _, gap := range nobody.Unavailable {
		reasons[gap.Field] = gap.Reason
	}
	for _, field := range []string{"serial_number", "security.apparmor_enforcing"} {
		if reasons[field] != "not readable without root" {
			t.Errorf("nobody lacks %s because %q", field, reasons[field])
		}
	}
}
