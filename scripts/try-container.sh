#!/usr/bin/env bash
# The Dockerfile's steps in two empty Debians made by debootstrap, one to build in and one to install into, and the demo's first
# verbs in the second. As root; takes about ten minutes and 6 GB.
#
#   scripts/try-container.sh FOLDER [FILE_OR_FOLDER ...]   what is named further is copied to the same place in both: settings of apt
#                                                          or pip, local packages
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(realpath -m "${1:?the folder to work in}")
shift
mirror=${MIRROR:-http://deb.debian.org/debian}
release=${RELEASE:-bookworm}

new_root() {
  local root=$1 path
  shift
  mkdir -p "$root"
  tar -xf "$work/base.tar" -C "$root"
  for path in /etc/resolv.conf /etc/ssl/certs/ca-certificates.crt "$@"; do
    mkdir -p "$root$(dirname "$path")"
    cp -aL "$path" "$root$(dirname "$path")/"
  done
}
inside() {
  local root=$1
  shift
  # Not all folders allow devices; /dev/null and friends are then the host's.
  mountpoint -q "$root/dev" || mount --bind /dev "$root/dev" 2>/dev/null || true
  mountpoint -q "$root/proc" || mount -t proc proc "$root/proc" 2>/dev/null || mount --bind /proc "$root/proc"
  chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TORCH_INDEX="${TORCH_INDEX:-}" "$@"
}
leave() {
  local root
  for root in "$work/build" "$work/run"; do
    for mounted in "$root/dev" "$root/proc"; do ! mountpoint -q "$mounted" || umount "$mounted"; done
  done
}
trap leave EXIT

mkdir -p "$work"
[ -f "$work/base.tar" ] || { debootstrap --variant=minbase "$release" "$work/base" "$mirror" > "$work/debootstrap.log" && tar -cf "$work/base.tar" -C "$work/base" .; }

echo "try-container: build"
new_root "$work/build" "$@"
mkdir -p "$work/build/src"
git archive HEAD | tar -x -C "$work/build/src"
inside "$work/build" /bin/bash -c 'cd /src && scripts/container.sh build'

echo "try-container: install and run"
new_root "$work/run" "$@"
cp scripts/container.sh scripts/setup.sh "$work"/build/src/build/packages/*.deb "$work/run/tmp/"
inside "$work/run" /bin/bash -c 'echo "without libtorch:"; dpkg --unpack --force-depends /tmp/*.deb >/dev/null 2>&1; protogcd info; echo "exit code $?"; dpkg -r --force-depends protogcd >/dev/null'
inside "$work/run" /bin/bash -c '/tmp/container.sh install /tmp/protogcd_*.deb'
inside "$work/run" /usr/bin/env TORCH_DIR=/opt/protogcd/torch /bin/bash -c '
  cd /tmp && protogcd --version && protogcd datasets make-demo --per-class 12 --out demo &&
  protogcd discover --labelled demo/labelled --unlabelled demo/unlabelled --k 16 --epochs 3 --out run && ls -l run/report.html'
echo "try-container: all steps passed"
