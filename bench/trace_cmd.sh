#!/usr/bin/env bash
# trace-cmd, also where root may trace events but not functions (some virtual machines refuse the files of
# the function tracer): it clears those files at every start, so plain files cover them, in a mount
# namespace that ends with it.
set -euo pipefail
tracing=/sys/kernel/tracing
if (: >>"$tracing/set_ftrace_pid") 2>/dev/null; then
  exec trace-cmd "$@"
fi
exec unshare --mount bash -c '
  cover=$(mktemp -d)
  mount -t tmpfs -o size=1m none "$cover"
  echo 1 >"$cover/enabled"
  mount --bind "$cover/enabled" /proc/sys/kernel/ftrace_enabled
  for file in set_ftrace_pid set_ftrace_notrace_pid set_ftrace_filter set_ftrace_notrace; do
    : >"$cover/$file"
    [[ ! -e /sys/kernel/tracing/$file ]] || mount --bind "$cover/$file" "/sys/kernel/tracing/$file"
  done
  umount -l "$cover"
  rmdir "$cover"
  exec trace-cmd "$@"' trace-cmd "$@"
