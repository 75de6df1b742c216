#!/usr/bin/env bash
# The main job on the built-in dataset, from a fresh clone to a page of results, with nothing to download but packages.
# Called by `make demo`. Safe to repeat: what is there already is not made again.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-demo}
program=build/release/bin/protogcd
parts=()
began=$SECONDS

# part NAME COMMAND...: runs it and remembers how long it took.
part() {
  local name=$1 start=$SECONDS
  shift
  "$@"
  parts+=("$name $((SECONDS - start)) s")
}
title() { printf '\n== %s\n' "$*"; }
run() { printf '$ protogcd %s\n' "$*"; "$program" "$@"; }

fresh=yes
[ ! -x $program ] || fresh=no
cat <<TEXT
protogcd's demo: from here to a page of results. On two cores of 2024 its parts take about:
  set-up    30 s   packages and libtorch, the first time (and a download of 200 MB)$([ $fresh = yes ] || echo "; later none")
  compile    3 min the program, the first time$([ $fresh = yes ] || echo "; later none")
  draw       5 s   a half-labelled collection of small images
  count      1 s   how many kinds are there?
  discover  80 s   learn to tell them apart, from the best of four beginnings
  page       1 s   the report
TEXT

title "Set-up"
part set-up scripts/setup.sh build

title "Compile"
part compile env NINJA_STATUS='[%f of %t, %e s] ' make --no-print-directory build

data=(--labelled "$folder/data/labelled" --unlabelled "$folder/data/unlabelled" --truth "$folder/data/truth.csv")
mkdir -p "$folder"

title "Draw: 16 kinds of drawn objects. Half of the images of 10 kinds carry labels; the others carry none, and nobody told
   the program about the 6 new kinds among them. (truth.csv is used to judge it, not to train.)"
part draw run datasets make-demo --out "$folder/data" --seed 1 --overwrite --sheet "$folder/sheet.png"

title "For comparison: grouping by similarity alone, were the number of kinds known (k-means on the features of the built-in backbone)"
part compare run cluster "${data[@]}" --k 16 --no-labels --out "$folder/k-means.csv" --overwrite

title "Count and discover: first it finds out how many kinds there are; then the last block of the backbone, a projection and one
   prototype a class learn from labelled and unlabelled images together. At the end it writes the page."
part "count, discover and page" run discover "${data[@]}" --epochs 60 --out "$folder/run" --overwrite

page=$(realpath "$folder/run/report.html")
title "Done in $(((SECONDS - began) / 60)) min $(((SECONDS - began) % 60)) s: $(printf '%s, ' "${parts[@]}" | sed 's/, $//')"
cat <<TEXT
The page:     file://$page
              (classes, map, images to look at; $folder/sheet.png shows the objects, $folder/run/predictions.csv every image's class)
New images:   $program predict --model $folder/run --images DIR --out predictions.csv
Your own:     $program discover --labelled DIR --unlabelled DIR --out RUN
              (a folder a class below the first; photographs need a larger backbone, and the message says which)
TEXT
if [ ! -f "$page" ]; then
  echo "This build has no page: npm was not found. Everything else is in $folder/run."
elif [ -t 1 ] && [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] && command -v xdg-open >/dev/null; then
  xdg-open "$page" >/dev/null 2>&1 &
fi
