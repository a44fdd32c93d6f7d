#!/bin/sh
# After the files are gone. The lists in /var/lib/sentinel and the journal in
# /var/log/sentinel stay, also when the package is purged: they say what was done to this
# machine. The group goes once nobody is in it.
set -e
[ ! -d /run/systemd/system ] || systemctl daemon-reload
case "$1" in
  purge | 0)
    if [ -z "$(getent group sentinel | cut -d: -f4)" ]; then
      groupdel sentinel 2>/dev/null || true
    fi
    ;;
esac
