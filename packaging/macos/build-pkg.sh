#!/bin/sh
# Makes an installer package on a Mac, from the folder of a release:
#
#   packaging/macos/build-pkg.sh VERSION [SIGNING-IDENTITY]
#
# Everything goes below /opt/sentinel, because a package cannot check whether only root can
# change /usr/local/bin. Without an identity ("Developer ID Installer: ...") the package is not signed, and
# Gatekeeper only opens it with Open Anyway in System Settings; a signed one must also be notarised:
#
#   xcrun notarytool submit sentinel-VERSION.pkg --keychain-profile PROFILE --wait
#   xcrun stapler staple sentinel-VERSION.pkg
set -eu
version=${1:?name the version}
here=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

DESTDIR=$work/root PREFIX=/opt/sentinel sh "$here/packaging/macos/install.sh"
# The installer would replace /etc, which is a link on a Mac, by the package's folder.
mkdir -p "$work/root/private" && mv "$work/root/etc" "$work/root/private/etc"
# It would also replace a configuration; postinstall installs one where there is none.
rm "$work/root/private/etc/sentinel/config.yaml"
mkdir -p "$work/scripts" && cp "$here/packaging/macos/postinstall" "$here/packaging/scripts/rootonly.sh" "$work/scripts/" && chmod 755 "$work/scripts/"*
set -- --root "$work/root" --scripts "$work/scripts" --identifier com.sentinel.pkg --version "$version" --ownership recommended --install-location / ${2:+--sign "$2"}
pkgbuild "$@" "sentinel-$version.pkg"
