# RUN of a Dockerfile: run-step ROOT WORKDIR COMMAND NPM_CACHE FILE…
# This machine's programs are lent to the step read-only; npm gets its settings, what it trusts, and its cache.
root=$1 workdir=$2 command=$3 cache=$4
shift 4
lend() {
  if [ -d "$1" ]; then mkdir -p "$root$1"; else mkdir -p "$root$(dirname "$1")" && touch "$root$1"; fi
  mount --bind "$1" "$root$1"
  mount -o "remount,bind,$2" "$root$1"
}
mount --bind "$root" "$root"
for path in /usr/bin /usr/sbin /usr/lib /usr/lib64 /etc; do
  if [ -d "$path" ]; then lend "$path" ro; fi
done
lend /dev rw
lend /proc rw
# What is written here is no part of the image.
mount -t tmpfs tmpfs "$root/tmp"
mkdir "$root/tmp/cache"
mount --bind "$cache" "$root/tmp/cache"
export npm_config_cache=/tmp/cache
for path in "$@"; do
  mkdir -p "$root/tmp/lent"
  name=/tmp/lent/$(basename "$path")
  cp "$path" "$root$name"
  case $path in
    *.npmrc) export NPM_CONFIG_USERCONFIG="$name" ;;
    *) export NODE_EXTRA_CA_CERTS="$name" ;;
  esac
done
export HOME=/tmp
exec chroot "$root" /bin/sh -euc 'cd "$1"; exec /bin/sh -euc "$2"' step "$workdir" "$command"
