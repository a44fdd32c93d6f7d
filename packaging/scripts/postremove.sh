#!/bin/sh
# Runs after the files are removed. The lists in /var/lib/sentinel and the journal
# in /var/log/sentinel stay, even when the package is purged: they record what was done to this
# machine. The group is removed when it has no members.
set -e
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload || true
  [ -e /usr/lib/systemd/system/sentinel-restore.service ] || systemctl reset-failed 'sentinel-*' 2>/dev/null || true
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
