#!/usr/bin/env bash
# The steps of the Dockerfile, for an empty Debian or Ubuntu, as root. They lie here so that they can be tried without a container
# engine (scripts/try-container.sh).
#
#   scripts/container.sh build           the sources in the present folder -> build/packages/*.deb
#   scripts/container.sh install FILE    that package, and the libtorch it needs
#
# TORCH_INDEX: where pip finds torch (empty: pip's own index).
set -euo pipefail
torch=$(sed -n 's/^pinned_torch=//p' "$(dirname "$0")/setup.sh")
python=/opt/protogcd  # a virtual environment with torch; the launcher is told by TORCH_DIR
export DEBIAN_FRONTEND=noninteractive

packages() { apt-get update -qq && apt-get install -y -qq --no-install-recommends "$@" >/dev/null; }

install_torch() {
  packages ca-certificates python3 python3-venv
  python3 -m venv $python
  $python/bin/pip install --quiet --no-cache-dir --no-compile ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} "torch==$torch"
}

torch_folder() { echo $python/lib/python3*/site-packages/torch; }

case ${1:-} in
  build)
    install_torch
    packages make
    TORCH_DIR=$(torch_folder) scripts/setup.sh build
    cmake --fresh --preset release -DPROTOGCD_TESTS=OFF -DCMAKE_PREFIX_PATH="$(torch_folder)/share/cmake" > build/configure.log 2>&1 ||
      { cat build/configure.log; exit 1; }
    cmake --build --preset release
    scripts/package.sh
    ;;
  install)
    install_torch
    packages curl libgomp1 "$(realpath "$2")"
    # One name for it, whatever Python's version.
    ln -sfn "$(torch_folder)" $python/torch
    ;;
  *)
    sed -n '2,8s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
