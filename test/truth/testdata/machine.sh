#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The first process of the virtual machine in machine_test.go: builds storage of
# every kind on the machine's disks, takes the inventory as root and as nobody, and
# switches off. What the test reads stands between lines that begin with "==".
export PATH=/bin DM_DISABLE_UDEV=1 MDADM_NO_UDEV=1 LVM_SUPPRESS_FD_WARNINGS=1
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t securityfs securityfs /sys/kernel/security
mount -t tmpfs tmpfs /run
while read -r module; do insmod "$module"; done </modules
set -e
trap 'echo "== failed in line $LINENO"; poweroff -f' EXIT

encrypt() { # device name type
	echo secret | cryptsetup -q --type "$3" --pbkdf pbkdf2 --pbkdf-force-iterations 1000 luksFormat "$1" -
	echo secret | cryptsetup open --type luks --key-file - "$1" "$2"
}
place() { # file-system device name
	mkfs."$1" -q "$2" >/dev/null
	mkdir -p "/mnt/$3"
	mount -t "$1" "$2" "/mnt/$3"
}

printf ',64M\n,\n' | sfdisk -q -X gpt /dev/vda
place ext4 /dev/vda1 partition
encrypt /dev/vda2 under_lvm luks2
vgcreate -qq safe /dev/mapper/under_lvm
lvcreate -qq -y -an -Zn -Wn -l 100%FREE -n data safe
lvchange -qq -ay safe/data
place ext4 /dev/mapper/safe-data lvm_on_luks

encrypt /dev/vdb whole_disk luks1
place ext4 /dev/mapper/whole_disk luks1

mdadm -q --create /dev/md0 --run --level=1 --metadata=1.2 --raid-devices=2 /dev/vdc /dev/vdd 2>/dev/null
encrypt /dev/md0 over_raid luks2
place ext4 /dev/mapper/over_raid luks_on_raid

encrypt /dev/vde half luks2
vgcreate -qq mixed /dev/mapper/half /dev/vdf
lvcreate -qq -y -an -Zn -Wn -i 2 -l 100%FREE -n data mixed
lvchange -qq -ay mixed/data
place ext4 /dev/mapper/mixed-data lvm_half_on_luks

encrypt /dev/vdg tree luks2
mkfs.btrfs -q -f /dev/mapper/tree
mkdir /mnt/btrfs_on_luks
mount -t btrfs /dev/mapper/tree /mnt/btrfs_on_luks

encrypt /dev/vdh branch luks2
mkfs.btrfs -q -f -d raid1 -m raid1 /dev/mapper/branch /dev/vdi
mkdir /mnt/btrfs_half_on_luks
mount -t btrfs /dev/mapper/branch /mnt/btrfs_half_on_luks

mkfs.ext4 -q -b 4096 /dev/vdj
root=$(veritysetup format /dev/vdj /dev/vdk | sed -n 's/^Root hash:[[:space:]]*//p')
veritysetup open /dev/vdj sealed /dev/vdk "$root"
mkdir /mnt/verity
mount -t ext4 -o ro /dev/mapper/sealed /mnt/verity

echo "== root"
sentinel --asset-info --json
echo "== nobody"
/bin/setpriv --reuid 65534 --regid 65534 --clear-groups sentinel --asset-info --json
echo "== lsblk"
lsblk -J -b -o NAME,PATH,SIZE,FSTYPE,MOUNTPOINTS,TYPE,FSSIZE,FSUSED,UUID
echo "== done"
trap - EXIT
poweroff -f
