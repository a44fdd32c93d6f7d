#!/bin/sh
# After the files of the package are in place. dpkg calls it with "configure" and
# the version before, if any; rpm with how many versions are installed then.
set -e

getent group sentinel >/dev/null || groupadd --system sentinel

[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
case "$1 $2" in
  "configure " | "1 ") # not an upgrade, which leaves what the administrator switched off
    systemctl enable --now sentinel-restore.service sentinel-restore.timer
    ;;
esac
