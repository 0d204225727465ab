#!/usr/bin/env bash
# Documents that the program writes itself: compares them with what it says now, or renews them.
#   tools/generated_docs.sh check|write PROGRAM
set -euo pipefail
mode=$1 program=$(realpath "$2")
cd "$(dirname "$0")/.."

# file <tab> arguments of the program that print it
documents=$(printf '%s\t%s\n' \
  docs/cli.md 'help --markdown' \
  docs/tables.md 'help --tables' \
  docs/checks.md 'check --list --format markdown')

status=0
while IFS=$'\t' read -r file arguments; do
  # shellcheck disable=SC2086 # arguments are words
  if [[ $mode == write ]]; then
    mkdir -p "$(dirname "$file")"
    "$program" $arguments >"$file.new"
    mv "$file.new" "$file"
  elif ! diff -u "$file" <("$program" $arguments); then
    echo "$file is not what 'culprit $arguments' prints: run ./dev bless and read the diff" >&2
    status=1
  fi
done <<<"$documents"
exit $status
