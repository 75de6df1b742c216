#!/usr/bin/env bash
# A biologist: photographs in folders, some broken; takes a first look, looks at the page, corrects twice, sorts, and comes back with new images.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

step "first words"
run 2
prints "Your photographs"

step "a collection as people have it: broken files, an empty folder, camera raw files"
run 0 datasets make-demo --out traps --per-class 30 --seed 4
mkdir traps/labelled/empty
echo "not a picture" > traps/unlabelled/broken.png
echo "II*" > traps/unlabelled/IMG_0001.CR2
run 0 datasets info --labelled traps/labelled --unlabelled traps/unlabelled

step "nothing to discover in, a run that is not there"
run 2 discover --labelled traps/labelled --out run
says "no unlabelled images"
run 2 discover --out nothere --resume
says "there is no run in"
[ ! -e run ] || fail "a refused command left a folder"

step "a first look, also at photographs that nobody has labelled"
run 0 discover --quick --labelled traps/labelled --unlabelled traps/unlabelled --k 16 --out first
prints "now train:"
prints "--out first-trained"
run 2 discover --quick --epochs 3 --unlabelled traps/unlabelled --out first-2
says "does not train"
run 0 discover --quick --unlabelled traps/unlabelled --out first-2
prints "all of them new (unsure"

step "discover"
discover=(discover --labelled traps/labelled --unlabelled traps/unlabelled --k 16 --epochs 3 --bank-views 2 --seed 1)
run 0 "${discover[@]}" --out run
says "in all"
says "folders hold no image"
[ "$(grep -c 'no labels to compare with' said)" -eq 1 ] || fail "what everybody knows is said more than once"
[ "$(grep -c broken.png run/skipped.csv)" -eq 1 ] || fail "the broken file is not listed"
grep -q CR2 run/skipped.csv || fail "the raw file is not listed"
[ -s run/labels.csv ] || fail "no labels.csv"
prints "20 images to label next: run/label-next.csv"
[ "$(wc -l < run/label-next.csv)" -eq 21 ] || fail "not twenty images to label next"
head -1 run/findings.csv | grep -q '^finding,path' || fail "no findings.csv"
head -2 run/predictions.csv | tail -1 | cut -d, -f1 | xargs -d '\n' test -f || fail "a path of predictions.csv does not open from here"

step "corrections, twice"
first=$(new_class run)
printf 'action,path,class,target\naccept,,%s,\nrename,,%s,barn owl\n' "$first" "$first" > first.csv
run 0 "${discover[@]}" --corrections first.csv --previous run --out run-2
says "accepted: barn owl"
second=$(new_class run-2)
printf 'action,path,class,target\naccept,,%s,\nrename,,%s,heron\n' "$second" "$second" > second.csv
run 0 "${discover[@]}" --corrections second.csv --previous run-2 --out run-3
says "from rounds before"
run 0 labels run-3
prints "barn owl,correction 1"
prints "heron,correction 2"
[ "$(grep -c 'barn owl,correction 1' run-3/labels.csv)" -eq "$(grep -c 'barn owl,correction 1' run-2/labels.csv)" ] || fail "labels were lost"

step "corrections of images that are elsewhere"
mv traps attic
moved=(discover --labelled attic/labelled --unlabelled attic/unlabelled --k 16 --epochs 1 --bank-views 2)
run 4 "${moved[@]}" --previous run-3 --out run-4
says "none of them"
says "--images-root DIR"
run 0 "${moved[@]}" --previous run-3 --images-root attic/unlabelled --out run-4
run 0 report run-3 --images-root attic/unlabelled

step "sorted into folders"
run 0 sort run-4 --out sorted --with-labelled
[ -d "sorted/barn owl" ] && [ -s "sorted/contact-sheets/barn owl.jpg" ] || fail "no folder or sheet of the barn owls"
run 2 sort run-4 --out sorted
run 0 sort run-4 --out sorted --link --overwrite

step "new images"
run 0 predict --model run-4 --images attic/unlabelled/00001.png
prints "path,class,is_new"
run 0 predict --model run-4 --images attic/outliers --out outliers.csv
echo "biologist: all as it should be"
