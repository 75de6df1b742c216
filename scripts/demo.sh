#!/usr/bin/env bash
# The main job on the built-in dataset, end to end, with nothing to download. Called by `make demo`.
set -euo pipefail
program=${1:?the program}
folder=${2:-demo}
say() { printf '\n%s\n' "$*"; }
mkdir -p "$folder"
run() { printf '$ protogcd %s\n' "$*"; "$program" "$@"; }
data=(--labelled "$folder/data/labelled" --unlabelled "$folder/data/unlabelled" --truth "$folder/data/truth.csv")

say "1. A half-labelled collection: 16 kinds of drawn objects. Half of the images of 10 kinds carry labels; the others
   carry none, and nobody told the program about the 6 new kinds among them. (truth.csv is used to judge it, not to train.)"
run datasets make-demo --out "$folder/data" --seed 1 --overwrite --sheet "$folder/sheet.png"

say "2. What grouping by similarity alone gives, were the number of kinds known: k-means on the features of the built-in backbone."
run cluster "${data[@]}" --k 16 --no-labels --out "$folder/k-means.csv" --overwrite

say "3. Discovery. First it finds out how many kinds there are; then the last block of the backbone, a projection and one
   prototype a class learn from labelled and unlabelled images together."
run discover "${data[@]}" --epochs 60 --out "$folder/run" --overwrite

say "Look at:      $folder/run/report.html in a browser (classes, map, images to look at), $folder/sheet.png (the objects),
              $folder/run/predictions.csv (every image's class)"
say "New images:   $program predict --model $folder/run --images DIR --out predictions.csv"
say "Your own:     $program discover --labelled DIR --unlabelled DIR --out RUN
              (a folder a class below the first; photographs need a larger backbone, and the message says which)"
