# Runs a program in an image: run-container ROOT COUNT MODE:FOLDER:PATH… PROGRAM ARG…
root=$1 count=$2
shift 2
mount --bind "$root" "$root"
for device in null zero full random urandom; do
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
mount -t proc proc "$root/proc"
mount -o remount,bind,ro "$root"
while [ "$count" -gt 0 ]; do
  mode=${1%%:*} rest=${1#*:}
  mount --bind "${rest%%:*}" "$root${rest#*:}"
  mount -o "remount,bind,nosuid,nodev,$mode" "$root${rest#*:}"
  count=$((count - 1))
  shift
done
# Not in this shell's place: it is the first process of the namespace, so that the kernel ends the program with it.
status=0
"$@" || status=$?
exit "$status"
