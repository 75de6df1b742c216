# protogcd. A newcomer needs two commands: `make demo` and `make test`. Each sets up all it needs and is safe to repeat.
# `make help` lists the rest.

PREFIX ?= /usr/local
SECONDS_PER_TARGET ?= 30
# Of a sitting of the campaign.
HOURS ?= 1
JOBS ?= $(shell nproc)
# Tests side by side on one GPU, each with a context of its own.
GPU_JOBS ?= 8
FORMATTED := $(shell git ls-files --cached --others --exclude-standard '*.h' '*.cpp' '*.cu' 2>/dev/null)

.PHONY: help setup build everything test test-page test-slow test-processes test-walks test-offline test-gpu campaign python test-python wheel docs demo install package dist sbom lint format tidy tidy-changed check asan tsan asan-program fuzz fuzz-coverage coverage clean

help:            ## this list
	@sed -n 's/^\([a-z -]*\):.*## /\1\t/p' Makefile | expand -t 20

setup:           ## packages and libtorch
	@scripts/setup.sh build

# Configures a preset once, and afresh when the libtorch in use changes (CMake would keep the paths of the old one).
# Torch's own CMake files warn about much that does not concern us: the log is shown only if configuring fails.
.PRECIOUS: build/%/build.ninja
build/%/build.ninja: build/torch_cmake_folder CMakePresets.json
	@echo "configuring $*"
	@mkdir -p build/$*
	@cmake --fresh --preset $* -DCMAKE_PREFIX_PATH="$$(cat build/torch_cmake_folder)" > build/$*/configure.log 2>&1 \
	  || { cat build/$*/configure.log; exit 1; }
	@touch $@

build/torch_cmake_folder: | setup ;

build: setup     ## the release program alone, build/release/bin/protogcd
	@$(MAKE) --no-print-directory build/release/build.ninja
	@cmake --build --preset release -j $(JOBS) --target protogcd

everything: setup
	@$(MAKE) --no-print-directory build-release

build-%: build/%/build.ninja
	@cmake --build --preset $* -j $(JOBS)

test: everything ## every quick test (4 minutes on two cores)
	@scripts/setup.sh test
	@cd build/release && ctest --output-on-failure -j $(JOBS) -LE 'slow|page'

test-page: everything ## the report page, driven in headless Chromium
	@scripts/setup.sh test
	@cd build/release && ctest --output-on-failure -L page

test-slow: everything ## the tests that take minutes, and ten minutes of the campaign
	@cd build/release && ctest --output-on-failure -L slow
	@scripts/setup.sh fuzz
	@$(MAKE) --no-print-directory build-fuzz
	@tests/campaign/campaign.py --hours 0.17

test-processes: everything ## training with several processes, started by torchrun
	@cd build/release && ctest --output-on-failure -L processes

test-walks: everything ## what a biologist, a researcher and a developer do, from the command line
	@for walk in biologist researcher developer; do echo "$$walk"; tests/walks/$$walk.sh || exit 1; done

test-offline: build ## every command once, where the kernel ends a process that asks for an internet socket
	@tests/campaign/offline.py

campaign: build  ## kills, faults, signals, fuzzing and endurance for HOURS (1); sittings add up in build/campaign/summary.html
	@scripts/setup.sh fuzz
	@$(MAKE) --no-print-directory build-fuzz
	@tests/campaign/campaign.py --hours $(HOURS)

# A GPU machine often has neither network nor root: nothing is installed. toml++'s headers may lie in carry/include.
test-gpu: export PROTOGCD_SKIP_PACKAGES = 1
test-gpu:        ## every quick test against a CUDA torch; without a GPU it fails
	@scripts/setup.sh build
	@$(MAKE) --no-print-directory build-cuda
	@cd build/cuda && PROTOGCD_REQUIRE_CUDA=1 ctest --output-on-failure --no-tests=error -j $(GPU_JOBS) -LE slow

# The module is compiled in the program's build folder, whose libraries it shares; pip packs and installs it.
python: everything ## the Python module, into .venv
	@scripts/setup.sh python
	@cmake build/release -DPROTOGCD_BINDINGS=ON -DPython_EXECUTABLE=$(CURDIR)/.venv/bin/python > build/release/configure.log 2>&1 \
	  || { cat build/release/configure.log; exit 1; }
	@cmake --build build/release -j $(JOBS) --target _core
	@PROTOGCD_PYTHON_MODULE=$$(ls $(CURDIR)/build/release/python/_core*.so) .venv/bin/pip install --quiet --disable-pip-version-check \
	  --no-build-isolation --no-deps --force-reinstall .

test-python: python ## the tests of the Python module
	@cd build && ../.venv/bin/python -m pytest -c ../pyproject.toml --rootdir .. ../tests/python --pyargs protogcd

wheel: python    ## a wheel and a source distribution of the Python module in build/packages
	@scripts/wheel.sh

docs: python     ## all documents and the Python API as one site, build/site/index.html
	@.venv/bin/python scripts/docs.py

demo:            ## the main job, end to end, on a built-in dataset
	@scripts/demo.sh

install: everything ## program, library, headers and CMake package into PREFIX
	@cmake --install build/release --prefix $(PREFIX)
	@cmake --install build/release --prefix $(PREFIX) --component this_machine

package: everything ## a .deb and a tar.gz in build/packages
	@scripts/package.sh

dist: build      ## the sources with the bundled page, as a tar.gz in build/packages
	@scripts/dist.sh

sbom: build      ## what the program is made of, as CycloneDX, in build/packages
	@scripts/sbom.py --torch "$$(cat build/torch_cmake_folder)/../.."

lint:            ## clang-format check
	@scripts/setup.sh lint
	@clang-format-16 --dry-run --Werror $(FORMATTED)

format:          ## clang-format, in place
	@scripts/setup.sh lint
	@clang-format-16 -i $(FORMATTED)

tidy tidy-changed: setup ## clang-tidy on our sources: all, or those changed since the last clean `make tidy`
	@scripts/setup.sh tidy
	@$(MAKE) --no-print-directory build/tidy/build.ninja
	@scripts/tidy.sh $(if $(filter tidy,$@),all,changed)

check: setup     ## warnings are errors
	@$(MAKE) --no-print-directory build-dev

asan tsan coverage: setup ## tests of the torch-free areas under a sanitizer, or with coverage counters
	@$(MAKE) --no-print-directory build-$@
	@cd build/$@ && ctest --output-on-failure -j $(JOBS) -LE 'slow|page'

# libtorch is not instrumented: what our own code does with its memory is seen, not what it does by itself.
asan-program: setup ## the whole program, libtorch included, under the address and undefined-behaviour sanitizers
	@$(MAKE) --no-print-directory build-asan-program
	@tests/campaign/sanitized.py --program build/asan-program/bin/protogcd

fuzz:            ## every fuzz target for SECONDS_PER_TARGET seconds
	@scripts/setup.sh fuzz
	@$(MAKE) --no-print-directory build-fuzz
	@scripts/fuzz.sh $(SECONDS_PER_TARGET)

fuzz-coverage: setup ## lines of each parser that the kept fuzz inputs reach; more than 90% of each must be
	@$(MAKE) --no-print-directory build/coverage/build.ninja
	@scripts/fuzz_coverage.py -j $(JOBS)

clean:           ## remove what was built (the virtual environment stays)
	@rm -rf build
