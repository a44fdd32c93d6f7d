#!/bin/sh
# Installs sentinel on a Mac, from the folder of an unpacked release or a built
# checkout, and puts nothing where anybody but root could change it:
#
#   sudo packaging/macos/install.sh
#
# Homebrew on Intel, even when it is installed later, gives /usr/local to a user, who could then
# replace a program that sudo runs as root. So on Intel, where anyone but root can change /usr/local,
# or with PREFIX=/opt/sentinel, everything goes below /opt/sentinel, which is added to the paths of
# login shells. With DESTDIR the files are only staged there, for a package, and nothing is enabled.
set -eu
PATH=/usr/bin:/bin:/usr/sbin:/sbin # sudo on a Mac keeps the user's

here=$(cd "$(dirname "$0")/../.." && pwd)
destdir=${DESTDIR:-}
die() { echo "install.sh: $*" >&2; exit 1; }

[ -n "$destdir" ] || [ "$(id -u)" = 0 ] || die "root is needed; run: sudo $0"
[ -n "$destdir" ] || [ "$(uname -s)" = Darwin ] || die "this is for macOS; on other systems use make install"

# Checks all places that root writes to: through a user's link there, root would
# write anywhere.
ours() { sh "$here/packaging/scripts/rootonly.sh" "$1/bin" "$1/share/man/man1" "$1/share/sentinel"; }

prefix=${PREFIX:-}
if [ -z "$prefix" ]; then
  prefix=/usr/local
  if [ "$(uname -m)" = x86_64 ] || ! ours /usr/local 2>/dev/null; then
    prefix=/opt/sentinel
    echo "Not only root can change /usr/local, or Homebrew could make it so; installing below $prefix"
  fi
fi
case $prefix in
  *[!A-Za-z0-9/._+-]* | [!/]*) die "PREFIX must begin with / and hold only letters, digits and / . _ + -, not $prefix" ;;
esac
[ -n "$destdir" ] || ours "$prefix" || exit 1

bin=$here
[ -x "$bin/sentinel" ] || bin=$here/bin
for program in sentinel sentinel-mcp sentinel-guard; do
  [ -x "$bin/$program" ] || die "there is no $program in $here; run make build first"
done

put() { # mode, source, target
  mkdir -p "$destdir$(dirname "$3")"
  sed "s|/usr/local/bin|$prefix/bin|g" "$2" > "$destdir$3.new"
  finish "$1" "$3"
}
copy() { # mode, source, target
  mkdir -p "$destdir$(dirname "$3")"
  cp "$2" "$destdir$3.new"
  finish "$1" "$3"
}
finish() { # a file is never seen half-written or with other rights
  [ "$(id -u)" != 0 ] || chown 0:0 "$destdir$2.new"
  chmod "$1" "$destdir$2.new"
  mv -f "$destdir$2.new" "$destdir$2"
}

# Browsers mark what they download, cp passes the mark on, and macOS kills a marked program
# that Apple has not notarised.
unmark() {
  /usr/bin/xattr -p com.apple.quarantine "$1" >/dev/null 2>&1 || return 0
  echo "A browser has marked ${1##*/} as downloaded, and macOS would kill it, because it is not notarised: taking the mark (com.apple.quarantine) off"
  /usr/bin/xattr -d com.apple.quarantine "$1" || die "cannot take the mark off $1"
}

umask 022
for program in sentinel sentinel-mcp sentinel-guard; do
  copy 755 "$bin/$program" "$prefix/bin/$program"
  copy 644 "$here/docs/man/$program.1" "$prefix/share/man/man1/$program.1"
  unmark "$destdir$prefix/bin/$program"
done
for plist in "$here"/packaging/launchd/*.plist; do
  put 644 "$plist" "/Library/LaunchDaemons/${plist##*/}"
done
if [ "$prefix" != /usr/local ]; then
  mkdir -p "$destdir/etc/paths.d" "$destdir/etc/manpaths.d"
  echo "$prefix/bin" > "$destdir/etc/paths.d/sentinel"
  echo "$prefix/share/man" > "$destdir/etc/manpaths.d/sentinel"
fi
mkdir -p "$destdir/etc/sentinel/config.d"
(umask 077 && mkdir -p "$destdir/etc/sentinel/secrets")
[ -e "$destdir/etc/sentinel/config.yaml" ] || copy 644 "$here/packaging/config.yaml" /etc/sentinel/config.yaml
copy 644 "$here/packaging/config.yaml" "$prefix/share/sentinel/config.yaml"
put 755 "$here/packaging/macos/uninstall.sh" "$prefix/share/sentinel/uninstall.sh"
put 440 "$here/packaging/sudoers.d/sentinel" "$prefix/share/sentinel/sudoers"

[ -n "$destdir" ] || PREFIX=$prefix sh "$here/packaging/macos/postinstall"
