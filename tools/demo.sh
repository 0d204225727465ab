#!/usr/bin/env bash
# The main job of culprit on this machine: a fault with a known truth is recorded and explained; then
# a small training job is recorded, and SQL says what its threads did.
#   tools/demo.sh PROGRAM
set -euo pipefail
culprit=$(realpath "$1")
cd "$(dirname "$0")/.."
seconds=${DEMO_SECONDS:-4}
[[ $(id -u) == 0 ]] || { echo "demo: recording needs root: run sudo ./dev demo" >&2; exit 1; }

# Beside the build, on a real disk: in a tmpfs fsync would wait for nothing.
work=$(dirname "$culprit")/../demo
mkdir -p "$work"
work=$(realpath "$work")
trace=$work/demo.trace

title() { printf '\n== %s\n' "$*"; }
say_and_do() {
  local words
  words=$(printf '%q ' "$culprit" "$@")
  printf '$ %s\n' "${words//"$PWD/"/}"
  "$culprit" "$@"
}

title "A data-loader worker shares its CPU with a log collector: $seconds s of it"
say_and_do record --quiet -o "$work/preempt.trace" -- "$culprit" lab preempt --for "${seconds}s" --json >"$work/preempt.out"
sed -n '/^\$/p' "$work/preempt.out"
title "What made the worker wait"
say_and_do explain "$work/preempt.trace"

title "Recording $seconds s of a small training job on $(nproc) CPUs"
say_and_do record -o "$trace" -- python3 tools/demo/workload.py "$seconds" "$work"

title "Who used the CPUs"
say_and_do query "$trace" -f tools/demo/cpu.sql
title "Who was runnable and had no CPU"
say_and_do query "$trace" -f tools/demo/runnable.sql
title "Who waited in D state, and where"
say_and_do query "$trace" -f tools/demo/blocked.sql

cat <<END

Go on with
  ${culprit#"$PWD/"} query ${trace#"$PWD/"}        # your own SQL
  ${culprit#"$PWD/"} open ${trace#"$PWD/"}         # the same recording in Perfetto's UI
END
