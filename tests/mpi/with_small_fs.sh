#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs a command with PLENUM_TEST_SMALL_FS naming a file system of a few MiB, where one may be mounted (root); otherwise
# without it, and the tests that need one are left out.
set -u

folder=$(mktemp -d)
if mount -t tmpfs -o size=4m,mode=1777 plenum_small_fs "$folder" 2>/dev/null; then
  chmod 1777 "$folder"
  export PLENUM_TEST_SMALL_FS="$folder"
else
  echo "no small file system can be mounted here: a full one is not tested"
fi
"$@"
code=$?
if [ -n "${PLENUM_TEST_SMALL_FS-}" ]; then umount "$folder"; fi
rmdir "$folder"
exit $code
