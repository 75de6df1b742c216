#!/usr/bin/env bash
# A C++ developer: installs, builds the example against the package, looks at the files of a run by their formats.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
build=$(dirname "$(dirname "$protogcd")")

step "install, and the example project"
cmake --install "$build" --prefix "$work/prefix" >/dev/null
cmake -S "$source_folder/examples/consumer" -B "$work/example" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix;$(cat "$source_folder/build/torch_cmake_folder")" >"$work/log" 2>&1 || { cat "$work/log"; fail "configuring the example"; }
cmake --build "$work/example" >"$work/log" 2>&1 || { cat "$work/log"; fail "building the example"; }
"$work/example/consumer" "$work/out" | grep -q "16 classes" || fail "the example"

step "what it wrote is a run like any other"
run 0 labels "$work/out/run" --json
python3 -c 'import json, sys; rows = json.load(open(sys.argv[1])); assert rows and {"path", "class", "given_by"} == set(rows[0])' "$work/printed"
run 0 predict --model "$work/out/run" --images "$work/out/drawn/unlabelled" --json
python3 -c 'import json, sys; assert len(json.load(open(sys.argv[1]))["predictions"]) > 0' "$work/printed"

step "errors are one line, with a code"
run 4 predict --model "$work/out/run" --images nowhere
run 7 labels "$work/out/run" --out nowhere/labels.csv
echo "developer: all as it should be"
