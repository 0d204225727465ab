#!/usr/bin/env bash
# culprit tune against the running kernel: real sysctls are written, read with other tools and taken
# back. Needs root and a writable /proc/sys; skips aloud elsewhere. Files in /etc and /var are
# private to a mount namespace; the values themselves are the machine's, and are put back at the end
# whatever happens.
#   tune_live_test.sh PROGRAM
set -euo pipefail

keys=(vm.max_map_count vm.swappiness vm.dirty_bytes vm.dirty_ratio vm.dirty_background_bytes
  vm.dirty_background_ratio)
path() { echo "/proc/sys/${1//.//}"; }
value() { cat "$(path "$1")"; }
skip() {
  echo "SKIPPED: $*"
  exit 77
}

restore() { # of "key value" lines; a pair's ratio after its bytes, as only a ratio takes its old value
  local key old
  while read -r key old; do
    [[ $(value "$key") == "$old" ]] || echo "$old" 2>/dev/null >"$(path "$key")" || true
  done <<<"$1"
}

if [[ ${1:-} != --inner ]]; then
  program=$(realpath "$1")
  [[ $(id -u) == 0 ]] || skip "root is needed to write sysctls"
  value vm.max_map_count 2>/dev/null >"$(path vm.max_map_count)" || skip "/proc/sys is not writable here"
  unshare -m true 2>/dev/null || skip "no private mount namespace can be made here"
  exec 9>/tmp/culprit-tune-live-test.lock
  flock 9 # the values are the machine's: one run at a time
  before=$(for key in "${keys[@]}"; do echo "$key $(value "$key")"; done)
  # Puts the values back when the last process of this test is gone, even by kill -9 of its group:
  # the pipe's end tells.
  export -f restore value path
  exec 8> >(exec setsid bash -c 'cat >/dev/null; restore "$1"' watcher "$before")
  unshare -m "$0" --inner "$program" "$before"
  after=$(for key in "${keys[@]}"; do echo "$key $(value "$key")"; done)
  [[ $after == "$before" ]] || { echo "left behind: $after, was: $before"; exit 1; }
  echo "tune_live_test: ok"
  exit 0
fi

program=$2 before=$3
mount --make-rprivate /
mkdir -p /etc/sysctl.d /etc/tmpfiles.d /var/lib/culprit
for directory in /etc/sysctl.d /etc/tmpfiles.d /var/lib/culprit; do mount -t tmpfs none $directory; done
drop_in=/etc/sysctl.d/99-zz-culprit.conf
journal=/var/lib/culprit/tune.json
work=$(mktemp -d)
trap 'rm -rf "$work"; restore "$before"' EXIT

fail() {
  echo "FAIL line ${BASH_LINENO[0]}: $*"
  [[ -s $work/out ]] && cat "$work/out"
  exit 1
}
# tune STATUS ARGUMENTS: runs it and checks the exit status; the output is in $work/out.
tune() {
  local want=$1 got=0
  shift
  "$program" tune "$@" >"$work/out" 2>&1 </dev/null || got=$?
  [[ $got == "$want" ]] || fail "tune $*: exit $got, not $want"
}
says() { grep -qF -- "$1" "$work/out" || fail "the output does not say: $1"; }
is() { [[ $(value "$1") == "$2" ]] || fail "$1 is $(value "$1"), not $2"; }
clean() { [[ ! -e $drop_in && ! -e $journal ]] || fail "a drop-in or journal is left"; }

# Known values to begin with, so that the machine's own do not matter.
echo 65530 >"$(path vm.max_map_count)"
echo 60 >"$(path vm.swappiness)"
echo 20 >"$(path vm.dirty_ratio)"
echo 10 >"$(path vm.dirty_background_ratio)"

# What the audit reads is what sysctl(8) reads.
"$program" tune --json >"$work/audit.json" || [[ $? == 1 ]] || fail "audit"
python3 - "$work/audit.json" <<'PYTHON' || fail "values differ from sysctl's"
import json, subprocess, sys
report = json.load(open(sys.argv[1]))
assert report["schema_version"] == 1
compared = 0
for knob in report["knobs"]:
    if knob["place"] != "sysctl" or knob["value"] is None:
        continue
    other = subprocess.run(["sysctl", "-n", knob["key"]], capture_output=True, text=True).stdout
    assert other.split() == knob["value"].split(), (knob["key"], other, knob["value"])
    compared += 1
assert compared >= 10, compared
PYTHON

# One key: value, drop-in, journal; and back.
tune 1 vm.max_map_count
tune 0 apply --dry-run vm.max_map_count
is vm.max_map_count 65530
clean
tune 0 apply vm.max_map_count
is vm.max_map_count 1048576
grep -qx 'vm.max_map_count = 1048576' $drop_in || fail "drop-in"
sysctl -q -p $drop_in || fail "sysctl cannot read the drop-in"
tune 0 vm.max_map_count
says "$drop_in:3"
tune 0 rollback
is vm.max_map_count 65530
clean

# The dirty trap: bytes zero the ratio, and 0 cannot be written back.
tune 0 apply --disk-bandwidth 50M vm.dirty_bytes vm.dirty_background_bytes
[[ $(value vm.dirty_bytes) -gt 0 ]] || fail "dirty_bytes"
is vm.dirty_ratio 0
is vm.dirty_background_ratio 0
{ echo 0 >"$(path vm.dirty_bytes)"; } 2>/dev/null && fail "this kernel has no dirty trap any more"
tune 0 rollback
is vm.dirty_bytes 0
is vm.dirty_ratio 20
is vm.dirty_background_bytes 0
is vm.dirty_background_ratio 10
clean

# The other way round: bytes are in use, a policy asks for a ratio.
echo 67108864 >"$(path vm.dirty_background_bytes)"
echo 'vm.dirty_background_ratio = 5' >"$work/policy"
tune 0 apply --policy "$work/policy" vm.dirty_background_ratio
is vm.dirty_background_bytes 0
tune 0 rollback
is vm.dirty_background_bytes 67108864
is vm.dirty_background_ratio 0
# Both 0: the pair can only be brought back there through another ratio.
echo 5 >"$(path vm.dirty_background_ratio)"
echo 0 >"$(path vm.dirty_background_ratio)"
echo 'vm.dirty_background_bytes = 67108864' >"$work/policy"
tune 0 apply --policy "$work/policy" vm.dirty_background_bytes
is vm.dirty_background_bytes 67108864
tune 0 rollback
is vm.dirty_background_bytes 0
is vm.dirty_background_ratio 0
echo 10 >"$(path vm.dirty_background_ratio)"
clean

# Somebody changes a key in between.
tune 0 apply vm.max_map_count
echo 262144 >"$(path vm.max_map_count)"
tune 1 rollback
says "changed by somebody since: it is 262144"
is vm.max_map_count 262144
tune 0 rollback --force
is vm.max_map_count 65530
clean

# The kernel refuses one of two values: the other stays, and only it is kept and journaled.
printf 'vm.swappiness = 999\nvm.max_map_count >= 1048576\n' >"$work/policy"
tune 1 apply --yes --policy "$work/policy"
says "FAILED vm.swappiness: the kernel refuses the value (EINVAL)"
is vm.swappiness 60
is vm.max_map_count 1048576
grep -q swappiness $drop_in $journal && fail "a refused key is kept"
tune 0 rollback
is vm.max_map_count 65530
clean

# A read-only /proc/sys, as in containers: nothing is written anywhere; a rollback keeps the journal.
read_only() {
  mount --bind /proc/sys /proc/sys
  mount -o remount,ro,bind /proc/sys
}
read_only
tune 1 apply vm.max_map_count
says "read-only here"
clean
umount /proc/sys
tune 0 apply vm.max_map_count
read_only
tune 1 rollback
says "read-only here"
[[ -e $journal && -e $drop_in ]] || fail "the journal or the drop-in went before the value"
umount /proc/sys
tune 0 rollback
is vm.max_map_count 65530
clean

# Only one of the files is read-only.
mount --bind "$(path vm.swappiness)" "$(path vm.swappiness)"
mount -o remount,ro,bind "$(path vm.swappiness)"
printf 'vm.swappiness = 10\nvm.max_map_count >= 1048576\n' >"$work/policy"
tune 1 apply --yes --policy "$work/policy"
says "FAILED vm.swappiness: read-only here"
is vm.max_map_count 1048576
umount "$(path vm.swappiness)"
tune 0 rollback
clean

# A full disk: the old values cannot be journaled, so nothing is written.
umount /var/lib/culprit
mount -t tmpfs -o size=4k none /var/lib/culprit
head -c 4096 /dev/zero >/var/lib/culprit/full
tune 1 apply vm.max_map_count
is vm.max_map_count 65530
[[ ! -e $drop_in ]] || fail "a drop-in without a journal"
rm /var/lib/culprit/full

# Without a terminal it does not ask, and does nothing; on one it asks.
tune 2 apply
clean
if command -v script >/dev/null; then
  printf 'n\n' | script -qec "'$program' tune apply" /dev/null >"$work/out" && fail "a no is not exit 1"
  says "write these values? [y/N]"
  clean
fi
tune 2 no.such.key
tune 1 rollback no.such.key
tune 2 --profile gaming
tune 2 --root /no/such/directory
tune 3 --root "$work"
