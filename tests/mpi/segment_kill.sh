#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Shared memory must vanish with the processes that have it mapped, even if they are killed.
#
#   segment_kill.sh LAUNCHER... PROGRAM     such as: segment_kill.sh mpiexec -n 2 ./segment_kill
set -u
output=$(mktemp)
trap 'rm -f "$output"' EXIT
fail() {
  echo "FAILED: $*" >&2
  cat "$output" >&2
  [ -z "${pids:-}" ] || kill -9 $pids 2>/dev/null
  kill -9 "$launcher" 2>/dev/null
  exit 1
}

"$@" > "$output" 2>&1 &
launcher=$!
for _ in $(seq 300); do
  [ "$(grep -c '^ready' "$output")" -ge 2 ] && break
  kill -0 "$launcher" 2>/dev/null || fail "the program ended by itself"
  sleep 0.1
done
pids=$(awk '/^ready/ { print $2 }' "$output")
[ "$(echo $pids | wc -w)" -eq 2 ] || fail "expected two ranks"
[ "$(awk '/^ready/ { seen += $3 } END { print seen }' "$output")" -eq 2 ] || fail "a rank does not see what the other wrote"

# While it lives it is one file without a name, mapped by both and open in neither.
inode=$(for pid in $pids; do awk '/memfd:plenum/ { print $5 }' "/proc/$pid/maps"; done | sort -u)
[ "$(echo $inode | wc -w)" -eq 1 ] || fail "expected one segment, found: $inode"
users() { # processes that map the segment, or have it open
  grep -ls " $inode  *[^ ]*memfd:plenum" /proc/[0-9]*/maps | cut -d/ -f3
  find /proc/[0-9]*/fd -lname '/memfd:plenum*' -printf '%p\n' 2>/dev/null | while read -r fd; do
    [ "$(stat -L -c %i "$fd" 2>/dev/null)" = "$inode" ] && echo "$fd"
  done
}
[ "$(users | sort | xargs)" = "$(echo $pids | xargs -n 1 | sort | xargs)" ] || fail "used by $(users | xargs), not by $pids"
ls /dev/shm | grep -i plenum && fail "the segment has a name in /dev/shm"

kill -9 $pids
for _ in $(seq 100); do
  alive=0
  for pid in $pids; do [ -e "/proc/$pid/maps" ] && [ -s "/proc/$pid/cmdline" ] && alive=1; done
  [ $alive -eq 0 ] && break
  sleep 0.1
done
[ $alive -eq 0 ] || fail "a process survived"
wait "$launcher" 2>/dev/null

[ -z "$(users)" ] || fail "still used by $(users | xargs)"
ls /dev/shm | grep -i plenum && fail "something is left in /dev/shm"
echo "PASSED: nothing is left"
