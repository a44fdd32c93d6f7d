#!/bin/sh
# Exits with 0 if only root can change what is in each of the given folders and in
# those above them. Anyone else who can could replace a program that root runs, or have root write
# through a link of theirs.
#
#   rootonly.sh FOLDER...
set -eu
PATH=/usr/bin:/bin:/usr/sbin:/sbin

# Of a symbolic link the owner counts; its mode means nothing.
check() {
  at=$1
  while :; do
    others=$(find "$at" -prune \( ! -user 0 -o ! -type l \( -perm -0020 -o -perm -0002 \) \) -print)
    [ -z "$others" ] || { echo "Not only root can change $others; choose another PREFIX, such as /opt/sentinel, or correct its owner and mode" >&2; exit 1; }
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
