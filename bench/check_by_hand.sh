#!/usr/bin/env bash
# What people type on a sick node: a third of what culprit check looks at, with the usual tools. Two readings a second
# apart where rates are wanted. It prints much and judges nothing.
set -u
interval=${1:-1}
uptime
ps -eo state,pid,ppid,wchan:32,comm | awk '$1 ~ /^[DZ]/'
free -b
df -P
df -Pi
ip -s link
cat /proc/pressure/* 2>/dev/null
before=$(cat /proc/vmstat /proc/net/snmp /proc/net/netstat /proc/diskstats)
sleep "$interval"
after=$(cat /proc/vmstat /proc/net/snmp /proc/net/netstat /proc/diskstats)
diff <(printf '%s\n' "$before") <(printf '%s\n' "$after") | grep -E 'allocstall|pswp|oom_kill|Tcp|sd|nvme|vd'
dmesg 2>/dev/null | grep -E 'Xid|I/O error|lockup|blocked for more than|Out of memory' | tail
for process in /proc/[0-9]*; do
  files=("$process"/fd/*)
  ((${#files[@]} > 1000)) && echo "$process ${#files[@]}"
done
mount | grep -E 'nfs|fuse|ceph|lustre' | awk '{print $3}' | while read -r point; do timeout 3 stat -f "$point" >/dev/null || echo "hung: $point"; done
exit 0
