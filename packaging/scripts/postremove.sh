#!/bin/sh
# After the files are gone. The lists in /var/lib/sentinel and the journal in
# /var/log/sentinel stay, also when the package is purged: they say what was done to this
# machine. The group goes once nobody is in it.
set -e
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload || true
  [ -e /usr/lib/systemd/system/sentinel-restore.service ] || systemctl reset-failed 'sentinel-re*' 2>/dev/null || true
fi
case "$1" in
  purge | 0)
    rm -f /var/lib/sentinel/units
    rmdir /var/lib/sentinel 2>/dev/null || true
    if [ -z "$(getent group sentinel | cut -d: -f4)" ]; then
      groupdel sentinel 2>/dev/null || true
    fi
    ;;
esac
