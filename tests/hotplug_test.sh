#!/usr/bin/env bash
# culprit record while a CPU goes and comes back, and when one comes that was not there at the start.
# Takes the highest CPU offline for about a second; a process of its own brings it back whatever happens.
# Only when it is asked for: some kernels (seen on a 6.18 guest) trace no switch out of that CPU's idle task any more once it
# came back, until the next boot, and every recording after it suffers.
set -uo pipefail
culprit=$1
control=$(ls -d /sys/devices/system/cpu/cpu[0-9]*/online 2>/dev/null | sort -V | tail -n 1)
skip() { echo "SKIP: $1"; exit 77; }
[[ ${CULPRIT_TEST_HOTPLUG:-} == 1 ]] || skip "CULPRIT_TEST_HOTPLUG=1 takes a CPU offline for real"
[[ $(id -u) == 0 ]] || skip "needs root"
[[ -n $control && -w $control ]] || skip "no CPU of this machine can be taken offline"
[[ $(cat "$control") == 1 ]] || skip "$control is offline already"
"$culprit" preflight >/dev/null 2>&1 || skip "culprit cannot record here: see culprit preflight"
cpu=${control%/online}
cpu=${cpu##*cpu}
folder=$(mktemp -d)
setsid bash -c "sleep 60; echo 1 > $control" >/dev/null 2>&1 &
watchdog=$!
load=()
trap 'echo 1 > "$control"; kill "${load[@]}" 2>/dev/null; kill -- -$watchdog 2>/dev/null; rm -rf "$folder"' EXIT
echo 0 > "$control" 2>/dev/null || skip "the kernel keeps CPU $cpu online"
echo 1 > "$control"

fail=0
check() {
  if [[ $2 == "$3" ]]; then return; fi
  echo "FAIL: $1: got '$2', expected '$3'"
  fail=1
}
ask() { "$culprit" query "$folder/t" "$1" --format csv | tail -n +2; }

# More runnable threads than CPUs, so that the one that goes has work before and after.
for ((i = 0; i <= $(nproc); ++i)); do
  timeout 20 bash -c 'while :; do :; done' &
  load+=($!)
done

# It goes and comes back: its idle thread is the last one before, and nothing runs there meanwhile.
"$culprit" record -o "$folder/t" --for 4s --quiet sched &
recorder=$!
sleep 1.2
gone=$(awk '{printf "%.0f", $1 * 1e9}' /proc/uptime)
echo 0 > "$control"
sleep 0.5
off=$(awk '{printf "%.0f", $1 * 1e9}' /proc/uptime)
sleep 0.5
back=$(awk '{printf "%.0f", $1 * 1e9}' /proc/uptime)
echo 1 > "$control"
wait "$recorder" || { echo "FAIL: record: exit status $?"; fail=1; }
check "ran while it was offline" "$(ask "SELECT count(*) FROM sched WHERE cpu = $cpu AND utid <> 0 AND ts > $off AND ts < $back")" 0
check "ran before and after" "$(ask "SELECT count(DISTINCT ts < $gone) FROM sched WHERE cpu = $cpu AND utid <> 0 AND (ts < $gone OR ts > $back)")" 2
# Switches that a sandbox's kernel hides are counted too (mismatched_sched_switch_tids) and are no loss of the recorder.
lost="SELECT count(*) FROM stats WHERE value > 0 AND (name GLOB '*overrun*delta' OR name GLOB '*dropped*delta')"
check "events lost" "$(ask "$lost")" 0
check "slices without an end in the middle" "$(ask "SELECT count(*) FROM sched WHERE dur < 0 AND ts < $back")" 0

# It was not there at the start.
echo 0 > "$control"
"$culprit" record -o "$folder/t" --for 3s --quiet sched &
recorder=$!
sleep 1.2
echo 1 > "$control"
wait "$recorder" || { echo "FAIL: record: exit status $?"; fail=1; }
check "seen once it came" "$(ask "SELECT count(*) > 0 FROM sched WHERE cpu = $cpu")" "$(ask "SELECT 1 = 1")"
[[ $fail == 0 ]] && echo "passed: CPU $cpu went and came"
exit $fail
