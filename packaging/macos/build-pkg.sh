#!/bin/sh
# Makes an installer package on a Mac, from the folder of a release:
#
#   packaging/macos/build-pkg.sh VERSION [SIGNING-IDENTITY]
#
# Everything goes below /opt/sentinel, because a package cannot ask whether others than root may
# change /usr/local/bin. Without an identity ("Developer ID Installer: ...") the package is not signed, and
# Gatekeeper lets it be opened only by Open Anyway in System Settings; a signed one is to be notarised, too:
#
#   xcrun notarytool submit sentinel-VERSION.pkg --keychain-profile PROFILE --wait
#   xcrun stapler staple sentinel-VERSION.pkg
set -eu
version=${1:?name the version}
here=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

DESTDIR=$work/root PREFIX=/opt/sentinel sh "$here/packaging/macos/install.sh"
# The installer replaces /etc by what a package holds there; it is a link on a Mac.
mkdir -p "$work/root/private" && mv "$work/root/etc" "$work/root/private/etc"
# It would replace a configuration as well; postinstall puts one where there is none.
rm "$work/root/private/etc/sentinel/config.yaml"
mkdir -p "$work/scripts" && cp "$here/packaging/macos/postinstall" "$here/packaging/scripts/rootonly.sh" "$work/scripts/" && chmod 755 "$work/scripts/"*
set -- --root "$work/root" --scripts "$work/scripts" --identifier com.sentinel.pkg --version "$version" --ownership recommended --install-location / ${2:+--sign "$2"}
pkgbuild "$@" "sentinel-$version.pkg"
