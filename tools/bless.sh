#!/usr/bin/env bash
# Rewrites the generated documents and the goldens of the tests; read the diff before committing.
#   tools/bless.sh BUILD_DIR
set -euo pipefail
cd "$(dirname "$0")/.."
build_dir=$1

tools/generated_docs.sh write "$build_dir/bin/culprit"
# A test that compares with a golden rewrites it when CULPRIT_BLESS is set, and passes.
CULPRIT_BLESS=1 ctest --test-dir "$build_dir" -j "$(nproc)" --output-on-failure
git --no-pager diff --stat
