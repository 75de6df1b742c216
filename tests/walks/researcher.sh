#!/usr/bin/env bash
# A researcher: a manifest with hidden truth, methods, seeds, a sweep, resuming, numbers.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

step "a manifest with hidden truth"
run 0 datasets make-demo --out demo --per-class 24 --seed 5
{
  echo "path,label,truth"
  find demo/labelled -name '*.png' | sort | while read -r file; do echo "$file,$(basename "$(dirname "$file")"),"; done
  tail -n +2 demo/truth.csv | grep '^unlabelled/' | tr -d '\r' | while IFS=, read -r path label; do echo "demo/$path,,$label"; done
} > task.csv
run 0 datasets verify --manifest task.csv

step "flags that are wrong are named"
run 2 train -v --manifest task.csv --out run
says_not "did you mean"
run 2 train --manifest task.csv --k 100000 --backbone builtin --out run
says "--k: 100000 classes, 99990 of them new, in"
run 2 train --manifest task.csv --method nothing --out run

step "train, evaluate, resume"
train=(train --manifest task.csv --backbone builtin --views bank --bank-views 2 --epochs 3 --seed 3)
run 0 "${train[@]}" --out run
run 0 evaluate --model run --manifest task.csv
run 0 train --out run --resume
says "finished already"
rm run/result.json
run 2 train --out run --resume --lr 0.05
says "--lr was 0.1 when the run was begun, now it is 0.05"
run 0 train --out run --resume

step "a training that diverges has a code of its own, and does not block the next try"
run 8 "${train[@]}" --lr 1e30 --out diverged

step "methods and a sweep"
run 0 methods
prints "simgcd"
cat > sweep.toml <<'TOML'
title = "methods"
[options]
manifest = "task.csv"
backbone = "builtin"
views = "bank"
bank_views = 2
epochs = 1
[[axis]]
option = "method"
values = ["protogcd", "simgcd"]
[[column]]
name = "All"
pointer = "/all"
TOML
run 3 sweep sweep.toml --set manifest=nowhere.csv --out sweep
says "there is no 'nowhere.csv'"
run 0 sweep sweep.toml --out sweep
prints "simgcd"

step "outliers, and the number of classes"
run 0 ood --model run --id demo/unlabelled --outliers demo/outliers
run 0 estimate-k --manifest task.csv --backbone builtin --cluster-steps 20 --min-steps 5 --epochs 1 --k-max 18 --bank-views 2
prints "classes"
echo "researcher: all as it should be"
