#!/bin/sh
# Runs after the files of the package are in place. dpkg calls it with "configure"
# and the version that was configured last, if any, which may have been removed since; rpm with the
# number of versions that are installed then.
set -e
noted=/var/lib/sentinel/units     # what preremove.sh switched off
offered=/var/lib/sentinel/offered # what was switched on once
first=
case "$1 $2" in
  "configure " | "1 ") first=yes ;;
  configure\ * | abort-remove\ * | [0-9]*) ;;
  *) exit 0 ;;
esac

group=$(getent group sentinel || true)
if [ -z "$group" ]; then
  groupadd --force --system sentinel
elif [ -n "$first" ]; then
  gid=$(echo "$group" | cut -d: -f3)
  members=$(echo "$group" | cut -d: -f4)$(awk -F: -v gid="$gid" '$4 == gid { printf " %s", $1 }' /etc/passwd || true)
  [ -z "$members" ] || echo "sentinel: the group sentinel existed before. Its members may now change this machine through sudo: $members" >&2
fi

# Units that the administrator has disabled stay disabled after an upgrade, and
# after a removal and a new installation. Where systemd does not run, as in an image that
# is being built, they start with it.
if [ -n "$first" ]; then
  # The first starts its timer where there is something to restore.
  units="sentinel-restore.service sentinel-record.timer"
else
  units=$(cat "$noted" 2>/dev/null || true)
  # What an upgrade has brought is switched on once, as by a first installation. Recordings
  # show that the recorder came before there was a list.
  [ -e "$offered" ] || [ -e /var/lib/sentinel/recorder ] || units="$units sentinel-record.timer"
fi
rm -f "$noted" || true
if mkdir -p /var/lib/sentinel; then echo sentinel-record.timer > "$offered" || true; fi
command -v systemctl >/dev/null || exit 0
[ ! -d /run/systemd/system ] || systemctl daemon-reload || true
for unit in $units; do
  systemctl enable "$unit" || echo "sentinel: $unit could not be enabled; see: sentinel --doctor" >&2
  [ ! -d /run/systemd/system ] || systemctl start "$unit" || echo "sentinel: $unit could not be started; see: sentinel --doctor" >&2
done
