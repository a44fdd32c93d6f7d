#!/bin/sh
# Ends with success if root alone decides what each of the given folders, and those
# above them, hold. Where others do, they could put another program in place of one that root
# runs, or have root write through a link of theirs.
#
#   rootonly.sh FOLDER...
set -eu
PATH=/usr/bin:/bin:/usr/sbin:/sbin

# A symbolic link counts by its owner, for its mode means nothing.
check() {
  at=$1
  while :; do
    others=$(find "$at" -prune \( ! -user 0 -o ! -type l \( -perm -0020 -o -perm -0002 \) \) -print)
    [ -z "$others" ] || { echo "$others can be changed by others than root; choose another PREFIX, such as /opt/sentinel, or mend its owner and mode" >&2; exit 1; }
    [ "$at" != / ] || return 0
    at=$(dirname "$at")
  done
}

for folder in "$@"; do
  case $folder in /*) ;; *) echo "$folder does not begin with /" >&2; exit 1 ;; esac
  while [ ! -d "$folder" ]; do folder=$(dirname "$folder"); done
  check "$folder"
  check "$(cd -P "$folder" && pwd -P)"
done
