#!/usr/bin/env bash
# fuzz/run.sh BUILD_DIR SECONDS [NAME...]: runs each fuzz target (or those named) for SECONDS from its
# corpus. New inputs stay in BUILD_DIR/fuzz/NAME; a finding is kept there too and makes the exit status 1.
set -euo pipefail
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build_dir=${1:?usage: fuzz/run.sh BUILD_DIR SECONDS [NAME...]}
seconds=${2:?usage: fuzz/run.sh BUILD_DIR SECONDS [NAME...]}
shift 2

names=("$@")
if ((${#names[@]} == 0)); then
  for file in "$source_dir"/*_fuzz.cc; do
    name=$(basename "$file")
    names+=("${name%_fuzz.cc}")
  done
fi

failed=()
for name in "${names[@]}"; do
  found=$build_dir/fuzz/$name
  mkdir -p "$found/corpus" "$found/findings"
  printf 'fuzz: %s for %s s\n' "$name" "$seconds"
  if "$build_dir/bin/${name}_fuzz" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$found/findings/" "$found/corpus" "$source_dir/corpus/$name" >"$found/log" 2>&1; then
    sed -n 's/^stat::number_of_executed_units: */fuzz:   executed /p; s/^stat::peak_rss_mb: */fuzz:   peak MB /p' "$found/log"
  else
    failed+=("$name")
    printf 'fuzz: %s FAILED, the input is in %s\n' "$name" "$found/findings"
    grep -E 'ERROR|SUMMARY|runtime error|CHECK' "$found/log" | head -5 || true
  fi
done
if ((${#failed[@]})); then
  printf 'fuzz: findings in: %s\n' "${failed[*]}"
  exit 1
fi
printf 'fuzz: no findings\n'
