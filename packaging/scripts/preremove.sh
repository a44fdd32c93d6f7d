#!/bin/sh
# Before the files of the package are removed, or replaced by those of another
# version ("upgrade" of dpkg, 1 of rpm), which changes nothing here.
set -e
case "$1" in
  upgrade | 1) exit 0 ;;
esac

if [ -d /run/systemd/system ]; then
  systemctl disable --now sentinel-restore.timer sentinel-restore.service sentinel-report.timer
fi

# Nobody could lift a block once sentinel is gone. The list of blocked addresses
# stays, and holds again after the next installation.
if command -v nft >/dev/null; then
  for table in sentinel sentinel_firewall; do
    nft delete table inet "$table" 2>/dev/null || true
  done
fi
for program in iptables ip6tables; do
  command -v "$program" >/dev/null || continue
  "$program" -w 5 -n -L SENTINEL >/dev/null 2>&1 || continue
  for chain in INPUT OUTPUT FORWARD; do
    while "$program" -w 5 -D "$chain" -j SENTINEL 2>/dev/null; do :; done
  done
  "$program" -w 5 -F SENTINEL
  "$program" -w 5 -X SENTINEL
done
