#!/usr/bin/env bash
# The tree of ./dev install runs where it is copied, and leans on nothing that a minimal Debian lacks.
#   tests/install_test.sh BUILD_DIR
set -euo pipefail
build_dir=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAIL: $*" >&2; exit 1; }

cmake --install "$build_dir" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/elsewhere"
tree=$work/elsewhere
for file in bin/culprit lib/libduckdb.so lib/libculprit_http.so share/man/man1/culprit.1 \
  share/bash-completion/completions/culprit share/zsh/vendor-completions/_culprit \
  share/fish/vendor_completions.d/culprit.fish; do
  [[ -s $tree/$file ]] || fail "$file is missing"
done

# Outside of the tree only these are used: libc, the C++ runtime and the loader.
base='linux-vdso|ld-linux|lib(c|m|dl|rt|pthread|resolv|stdc\+\+|gcc_s|asan|ubsan)\.so'
for object in "$tree"/bin/culprit "$tree"/lib/libculprit_http.so "$tree"/lib/libduckdb.so; do
  while read -r name _ path _; do
    [[ $path == not ]] && fail "$object: $name is not found"
    [[ $name =~ $base ]] || [[ $(realpath "$path") == "$tree"/* ]] || fail "$object takes $name from $path"
  done < <(ldd "$object")
done
# Libraries of Debian's find each other through the program that loads them: by name, in the same folder.
for object in "$tree"/lib/*.so*; do
  while read -r _ name; do
    [[ $name =~ $base ]] || [[ -e $tree/lib/$name ]] || fail "$object needs $name"
  done < <(objdump -p "$object" | grep NEEDED)
done

cd /
[[ $("$tree/bin/culprit" --version) == culprit\ * ]] || fail "--version"
# Needs lib/libduckdb.so. Text of ftrace is the smallest trace there is.
printf '# tracer: nop\n#\n           <...>-7 [000] d... 1.000001: sched_switch: prev_comm=a prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=b next_pid=8 next_prio=120\n' >"$work/text.trace"
[[ $("$tree/bin/culprit" query --quiet --format csv "$work/text.trace" "SELECT name FROM thread WHERE tid = 8" | tail -n 1) == b ]] ||
  fail "query"
echo ok
