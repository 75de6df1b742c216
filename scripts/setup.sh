#!/usr/bin/env bash
# Everything a build needs, and nothing twice: Debian/Ubuntu packages by apt, and a libtorch. Safe to repeat; when all
# is there it takes a fraction of a second. Prints nothing unless there is something to do.
#
#   scripts/setup.sh [build|test|python|lint|tidy|fuzz]   what for: compile, or also what tests read with (TensorBoard,
#                                                  ONNX Runtime) and a browser (Chromium), clang-format, clang-tidy or clang
#
# libtorch comes from, in this order: TORCH_DIR (a torch package, its share/cmake, or an unpacked libtorch); the active
# Python environment if it has torch >= 2.11; else a virtual environment in .venv with the pinned torch of pip.
set -euo pipefail
cd "$(dirname "$0")/.."
purpose=${1:-build}
pinned_torch=2.13.0
pinned_tensorboard=2.21.0
pinned_onnxruntime=1.31.1

required=(g++ cmake ninja-build make pkg-config python3 python3-venv
  libcli11-dev libtomlplusplus-dev nlohmann-json3-dev libfmt-dev libspdlog-dev zlib1g-dev libjpeg-dev libpng-dev
  libgtest-dev libgmock-dev)
optional=(ccache mold libwebp-dev libtiff-dev libheif-dev)
# The report page is bundled by npm. A Node.js of one's own is as good as the packaged one.
command -v npm >/dev/null || optional+=(nodejs npm)
case $purpose in
  build) ;;
  python) required+=(python3-dev) ;;
  test) required+=(curl) ;;
  lint) required+=(clang-format-16) ;;
  tidy) required+=(clang-tidy-16) ;;
  fuzz) required+=(clang-16 libclang-rt-16-dev lld-16) ;;
  *) echo "setup: unknown purpose '$purpose'" >&2; exit 2 ;;
esac

missing_of() { # the packages among the arguments that are not installed
  comm -23 <(printf '%s\n' "$@" | sort) \
    <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p' | sort)
}

install_packages() {
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null || { [ ! -t 0 ] && ! sudo -n true 2>/dev/null; }; then return 1; fi
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

if [ -z "${PROTOGCD_SKIP_PACKAGES:-}" ]; then
  if ! command -v dpkg-query >/dev/null; then
    echo "setup: this is not Debian or Ubuntu; if the build fails, install what these packages hold:" >&2
    echo "  ${required[*]} ${optional[*]}" >&2
  else
    mapfile -t missing < <(missing_of "${required[@]}")
    mapfile -t missing_optional < <(missing_of "${optional[@]}")
    if [ ${#missing[@]} -gt 0 ]; then
      echo "setup: installing ${missing[*]} ${missing_optional[*]}" >&2
      # A package that this release of the distribution does not have must not stop the others.
      if ! install_packages "${missing[@]}" "${missing_optional[@]}" && ! install_packages "${missing[@]}"; then
        echo "setup: cannot install packages here (no root, no sudo, or apt failed). Please install:" >&2
        echo "  apt-get install ${missing[*]} ${missing_optional[*]}" >&2
        echo "then run the command again (PROTOGCD_SKIP_PACKAGES=1 skips this check)." >&2
        exit 1
      fi
    fi
  fi
fi

# Tests open the report page in a browser; without one they are skipped, so failing to get it stops nobody.
if [ "$purpose" = test ] && [ -z "${PROTOGCD_SKIP_PACKAGES:-}" ] && command -v dpkg-query >/dev/null &&
  ! command -v chromium >/dev/null; then
  echo "setup: installing chromium (once)" >&2
  install_packages chromium || echo "setup: chromium could not be installed; the page's test will be skipped" >&2
fi

[ "$purpose" != lint ] || exit 0  # formatting needs no libtorch

# The folder that holds Torch/TorchConfig.cmake, below one of the usual places of $1; empty if there is none.
torch_cmake_folder() {
  local folder
  for folder in "$1" "$1/share/cmake" "$1/torch/share/cmake"; do
    if [ -f "$folder/Torch/TorchConfig.cmake" ]; then (cd "$folder" && pwd); return; fi
    if [ -f "$folder/TorchConfig.cmake" ]; then (cd "$folder/.." && pwd); return; fi
  done
}

# The site-packages folder of the torch that interpreter $1 would import, if new enough. Does not import it: that is slow.
python_torch_folder() {
  "$1" - <<'PY' 2>/dev/null || true
import importlib.metadata, importlib.util, re
found = tuple(map(int, re.findall(r"\d+", importlib.metadata.version("torch"))[:2]))
if found >= (2, 11):
    print(importlib.util.find_spec("torch").submodule_search_locations[0])
PY
}

find_torch() {
  local found
  if [ -n "${TORCH_DIR:-}" ]; then
    found=$(torch_cmake_folder "$TORCH_DIR")
    if [ -z "$found" ]; then
      echo "setup: TORCH_DIR=$TORCH_DIR holds no Torch/TorchConfig.cmake (expected below it or below share/cmake)" >&2
      exit 1
    fi
    echo "$found"
    return
  fi
  found=$(python_torch_folder python3)
  [ -n "$found" ] || found=$(python_torch_folder .venv/bin/python)
  if [ -z "$found" ]; then
    echo "setup: installing torch $pinned_torch into .venv (once, a few hundred megabytes)" >&2
    [ -x .venv/bin/pip ] || python3 -m venv --clear .venv
    # Only the libraries and headers are used: compiling ten thousand Python files would take longer than all the rest.
    .venv/bin/pip install --quiet --disable-pip-version-check --no-compile "torch==$pinned_torch" >&2
    found=$(python_torch_folder .venv/bin/python)
  fi
  torch_cmake_folder "$found"
}

mkdir -p build
torch=$(find_torch)
[ -n "$torch" ] || { echo "setup: no usable torch was found" >&2; exit 1; }
# Rewritten only when libtorch or this folder has moved, so that make reconfigures only then.
if [ "$(cat build/torch_cmake_folder 2>/dev/null)" != "$torch" ] || [ "$(cat build/source_folder 2>/dev/null)" != "$PWD" ]; then
  echo "$PWD" > build/source_folder
  echo "$torch" > build/torch_cmake_folder
fi

# Tests let TensorBoard and ONNX Runtime read our files; without a package its test is skipped, so failing to get one stops nobody.
if [ "$purpose" = test ] && [ -z "${PROTOGCD_PYTHON:-}" ]; then
  for package in "tensorboard==$pinned_tensorboard" "onnxruntime==$pinned_onnxruntime"; do
    compgen -G ".venv/lib/python3*/site-packages/${package%%==*}" >/dev/null && continue
    echo "setup: installing ${package/==/ } into .venv (once)" >&2
    [ -x .venv/bin/pip ] || python3 -m venv --clear .venv
    .venv/bin/pip install --quiet --disable-pip-version-check --retries 1 "$package" >&2 ||
      echo "setup: ${package%%==*} could not be installed; its test will be skipped" >&2
  done
fi

# The Python module is built by these and tested with the others, in .venv (whose torch is libtorch's too, unless another was chosen).
if [ "$purpose" = python ]; then
  packages=(scikit-build-core nanobind pytest tqdm pandas pyarrow scikit-learn pillow mypy nbclient ipykernel markdown-it-py)
  wanted=build/python_packages
  if [ "$(cat $wanted 2>/dev/null)" != "${packages[*]}" ] || [ ! -x .venv/bin/pip ]; then
    echo "setup: installing what the Python module needs into .venv (once)" >&2
    [ -x .venv/bin/pip ] || python3 -m venv --clear .venv
    .venv/bin/pip install --quiet --disable-pip-version-check "${packages[@]}" >&2
    echo "${packages[*]}" > $wanted
  fi
fi
