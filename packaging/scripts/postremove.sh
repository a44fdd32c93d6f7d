#!/bin/sh
# Runs after the files are removed. A purge takes the list of blocked addresses, the state of the
# firewall, the verdicts of the last audit and report, and what the recorder kept away, so that a
# later installation changes nothing by itself. The journal in /var/log/sentinel stays, with where it
# ends, the key of its heads and the id of this installation: it records what was done to this machine.
# Where somebody has removed the journal, nothing of it is left. The group is removed when it has no members.
set -e
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload || true
  [ -e /usr/lib/systemd/system/sentinel-restore.service ] || systemctl reset-failed 'sentinel-*' 2>/dev/null || true
fi
case "$1" in
  purge | 0)
    rm -f /var/lib/sentinel/units /var/lib/sentinel/offered /var/lib/sentinel/journal-turn-*.lock
    # rpm has no purge: there the lists apply again after the next installation.
    [ "$1" != purge ] || rm -rf /var/lib/sentinel/blocklist.json* /var/lib/sentinel/.blocklist.json* /var/lib/sentinel/firewall*.json* /var/lib/sentinel/.firewall*.json* /var/lib/sentinel/audit*.json* /var/lib/sentinel/startup*.json* /var/lib/sentinel/logins*.json* /var/lib/sentinel/disk_usage*.json* /var/lib/sentinel/reported.json* /var/lib/sentinel/recorder
    [ -n "$(find /var/log/sentinel -maxdepth 1 -name 'journal*' 2>/dev/null)" ] || rm -f /var/lib/sentinel/journal-key /var/lib/sentinel/journal-head
    rmdir /var/lib/sentinel 2>/dev/null || true
    if [ -z "$(getent group sentinel | cut -d: -f4)" ]; then
      groupdel sentinel 2>/dev/null || true
    fi
    ;;
esac
