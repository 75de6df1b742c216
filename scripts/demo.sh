#!/usr/bin/env bash
# The main job on the built-in dataset, end to end, with what the program can do today. Called by `make demo`.
set -euo pipefail
program=${1:?the program}
folder=${2:-demo}
say() { printf '\n%s\n' "$*"; }
mkdir -p "$folder"
run() { printf '$ protogcd %s\n' "$*"; "$program" "$@"; }

say "1. A half-labelled collection: 16 kinds of drawn objects, labels for some images of 10 of them."
run datasets make-demo --out "$folder/data" --seed 1 --overwrite --sheet "$folder/sheet.png"

say "2. What protogcd sees in it (the truth is hidden from training, and used for evaluation alone)."
run datasets info --labelled "$folder/data/labelled" --unlabelled "$folder/data/unlabelled" --truth "$folder/data/truth.csv"

say "3. The same as one table, ready for other tools."
run datasets split --labelled "$folder/data/labelled" --unlabelled "$folder/data/unlabelled" \
  --truth "$folder/data/truth.csv" --csv "$folder/split.csv" --overwrite

say "Look at $folder/sheet.png for the objects. Discovery itself needs a backbone: see README.md, \`protogcd discover\`."
say "Your own images:  $program datasets info --labelled DIR --unlabelled DIR"
