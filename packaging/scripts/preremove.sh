#!/bin/sh
# Runs before the files of the package are removed. It does nothing on an upgrade,
# for which dpkg and rpm pass different arguments.
set -e
umask 022
case "$1" in
  remove | 0) ;;
  *) exit 0 ;;
esac

# Nothing below may keep the package from being removed. What is on trial in the
# firewall is taken back while there is a sentinel that can do it.
if [ -e /var/lib/sentinel/firewall-trial.json ]; then
  echo "sentinel: a change of the firewall is on trial; it is taken back now" >&2
  timeout 60 "${SENTINEL:-/usr/bin/sentinel}" --restore-blocklist --end-trial --json >/dev/null ||
    echo "sentinel: it could not be taken back; look at the firewall (ufw status, firewall-cmd --state, nft list ruleset) before you leave this session" >&2
fi

# What clients start through the guard does not start without it. Whose entries those are is looked
# up where clients keep them by default: as each user, who may have put a link in place of a file,
# without root's terminal and environment, for two seconds each and ten in all, because a home may be on
# a server that does not answer. Only whether there is one comes back.
# shellcheck disable=SC2016 # the inner shells expand these
look='
for file in .claude.json .claude/settings.json .mcp.json .config/Claude/claude_desktop_config.json .cursor/mcp.json .config/Code/User/mcp.json .config/Code/User/settings.json .vscode/mcp.json .gemini/settings.json .copilot/mcp-config.json .codeium/windsurf/mcp_config.json .config/zed/settings.json .lmstudio/mcp.json .continue/config.json .config/goose/config.json .aws/amazonq/mcp.json .kiro/settings/mcp.json; do
  [ -f "$1/$file" ] || continue
  ! head -c 33554432 "$1/$file" | grep -Eq "\"command\"[[:space:]]*:[[:space:]]*\"([^\"]*/)?sentinel-guard\"" || exit 0
done
exit 1'
# shellcheck disable=SC2016
behind=$(setsid timeout -s KILL 10 sh -c '
getent passwd | sort -t: -k6,6 -u | while IFS=: read -r user _ uid gid _ home _; do
  ! env -i PATH="$PATH" timeout -s KILL 2 setpriv --reuid="$uid" --regid="$gid" --clear-groups sh -c "$1" sh "$home" </dev/null >/dev/null 2>&1 || echo "$user"
done' sh "$look" 2>/dev/null | head -n 20 | tr '\n' ' ') || true
if [ -n "$behind" ]; then
  echo "sentinel: clients of these users start servers through sentinel-guard, and cannot start them any longer: $behind" >&2
  echo "sentinel: to undo that, install it again, have each of them run \"sentinel-guard unwrap --all\", and remove it then" >&2
fi

# Enabled units are noted, because the next installation cannot know which ones the administrator
# had disabled. A full or read-only disk takes no note.
if command -v systemctl >/dev/null; then
  mkdir -p /var/lib/sentinel || true
  (: > /var/lib/sentinel/units) || true
  [ ! -d /run/systemd/system ] || systemctl stop sentinel-restore.timer 2>/dev/null || true
  for unit in sentinel-restore.service sentinel-record.timer sentinel-report.timer sentinel-metrics.timer sentinel-metrics-hourly.timer; do
    [ "$(systemctl is-enabled "$unit" 2>/dev/null)" != enabled ] || (echo "$unit" >> /var/lib/sentinel/units) || true
    [ ! -d /run/systemd/system ] || systemctl stop "$unit" 2>/dev/null || true
    systemctl disable "$unit" 2>/dev/null || rm -f /etc/systemd/system/*.wants/"$unit" || true
  done
fi

# Pages that nobody renews would be exported for ever.
rm -f /var/lib/prometheus/node-exporter/sentinel*.prom /var/lib/prometheus/node-exporter/sentinel*.prom.new || true

# Without sentinel nobody could lift a block. The list of blocked addresses and the
# definition of the firewall stay, and apply again after the next installation.
if [ -e /var/lib/sentinel/firewall.json ]; then
  echo "sentinel: its firewall (nftables, table sentinel_firewall) goes with it; unless another one is on, nothing filters what comes in. To have it stay away after a new installation: apt purge sentinel, or rm /var/lib/sentinel/firewall.json" >&2
fi
if grep -q '"ip"' /var/lib/sentinel/blocklist.json 2>/dev/null; then
  echo "sentinel: the addresses that it blocks get in again; the list of them stays for a new installation, unless the package is purged" >&2
fi
if command -v nft >/dev/null; then
  for table in sentinel sentinel_firewall; do
    nft delete table inet "$table" 2>/dev/null || true
  done
elif grep -q '"ip"' /var/lib/sentinel/blocklist.json 2>/dev/null; then
  echo "sentinel: there is no nft to remove blocked addresses from the kernel; they stay blocked until the next reboot" >&2
fi
for program in iptables ip6tables; do
  command -v "$program" >/dev/null || continue
  "$program" -w 5 -n -L SENTINEL >/dev/null 2>&1 || continue
  for chain in INPUT OUTPUT FORWARD; do
    while "$program" -w 5 -D "$chain" -j SENTINEL 2>/dev/null; do :; done
  done
  "$program" -w 5 -F SENTINEL || true
  "$program" -w 5 -X SENTINEL || echo "sentinel: the chain SENTINEL of $program is now empty, but stays because another chain uses it" >&2
done
