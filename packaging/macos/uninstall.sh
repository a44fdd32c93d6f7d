#!/bin/sh
# Removes what install.sh installed on this Mac. The lists in /var/lib/sentinel, the
# journal in /var/log/sentinel, secrets and a changed configuration stay.
set -eu
PATH=/usr/bin:/bin:/usr/sbin:/sbin # sudo on a Mac keeps the user's
[ "$(id -u)" = 0 ] || { echo "uninstall.sh: root is needed; run: sudo $0" >&2; exit 1; }
bin=/usr/local/bin
prefix=${bin%/bin}

# What clients start through the guard does not start without it. Entries are looked for where
# clients keep them by default: as each user, who may have put a link in place of a file, and for two
# seconds each. Everybody can write to Shared.
behind=
for home in /Users/*; do
  [ "${home##*/}" != Shared ] || continue
  uid=$(/usr/bin/stat -f %u "$home") || continue
  for file in .claude.json .claude/settings.json .mcp.json "Library/Application Support/Claude/claude_desktop_config.json" .cursor/mcp.json "Library/Application Support/Code/User/mcp.json" "Library/Application Support/Code/User/settings.json" .vscode/mcp.json .gemini/settings.json .copilot/mcp-config.json .codeium/windsurf/mcp_config.json .config/zed/settings.json .lmstudio/mcp.json .continue/config.json .config/goose/config.json .aws/amazonq/mcp.json .kiro/settings/mcp.json; do
    [ -f "$home/$file" ] || continue
    ! /usr/bin/sudo -n -u "#$uid" /usr/bin/perl -e 'alarm 2; exec @ARGV' head -c 33554432 "$home/$file" </dev/null 2>/dev/null | grep -Eq '"command"[[:space:]]*:[[:space:]]*"([^"]*/)?sentinel-guard"' || { behind="$behind ${home##*/}"; break; }
  done
done

# bootout returns while the job still ends. A run that goes on might block again what is
# lifted below.
for job in com.sentinel.report com.sentinel.record com.sentinel.restore; do
  /bin/launchctl bootout "system/$job" 2>/dev/null || true
  rm -f "/Library/LaunchDaemons/$job.plist"
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
    /bin/launchctl print "system/$job" >/dev/null 2>&1 || break
    sleep 1
  done
done

# Without sentinel nobody could lift a block. The list stays, and applies again
# after the next installation.
/sbin/pfctl -a com.apple/000.Sentinel -F all 2>/dev/null || true
token=$(sed -n 's/.*"token": *"\{0,1\}\([0-9]*\).*/\1/p' /var/lib/sentinel/pf-reference.json 2>/dev/null || true)
[ -z "$token" ] || /sbin/pfctl -X "$token" 2>/dev/null || true
rm -f /var/lib/sentinel/pf-reference.json /var/lib/sentinel/watch

for program in sentinel sentinel-mcp sentinel-guard; do
  rm -f "$bin/$program" "$prefix/share/man/man1/$program.1"
done
rm -f /etc/paths.d/sentinel /etc/manpaths.d/sentinel /private/etc/sudoers.d/sentinel
! cmp -s "$prefix/share/sentinel/config.yaml" /etc/sentinel/config.yaml || rm -f /etc/sentinel/config.yaml
rm -rf "$prefix/share/sentinel"
[ "$prefix" != /opt/sentinel ] || rmdir /opt/sentinel/bin /opt/sentinel/share/man/man1 /opt/sentinel/share/man /opt/sentinel/share /opt/sentinel 2>/dev/null || true
rmdir /etc/sentinel/secrets /etc/sentinel/config.d /etc/sentinel 2>/dev/null || true
/usr/sbin/dseditgroup -o delete sentinel 2>/dev/null || true
/usr/sbin/pkgutil --forget com.sentinel.pkg >/dev/null 2>&1 || true
echo "Removed. What was done to this Mac is still in /var/log/sentinel and /var/lib/sentinel."
if [ -n "$behind" ]; then
  echo "Clients of these users start servers through sentinel-guard, and cannot start them any longer:$behind" >&2
  echo "To undo that, install it again, have each of them run \"sentinel-guard unwrap --all\", and remove it then." >&2
fi
