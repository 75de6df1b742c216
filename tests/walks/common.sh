# What the walks share. A walk is what one kind of user does with the program, from the command line alone; it ends at the first
# step that is not as it should be.
set -euo pipefail
source_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
protogcd=${PROTOGCD:-$source_folder/build/release/bin/protogcd}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

step() { echo "  $*"; }
fail() { echo "walk failed: $*" >&2; exit 1; }

# run CODE WORDS...: the program; its words are in $work/said, what it printed in $work/printed.
run() {
  local expected=$1 code=0
  shift
  "$protogcd" "$@" >"$work/printed" 2>"$work/said" || code=$?
  [ "$code" -eq "$expected" ] || { cat "$work/said" >&2; fail "protogcd $*: exit code $code, not $expected"; }
}
says() { grep -qF -- "$1" "$work/said" || { cat "$work/said" >&2; fail "it did not say: $1"; }; }
says_not() { ! grep -qF -- "$1" "$work/said" || { cat "$work/said" >&2; fail "it said: $1"; }; }
prints() { grep -qF -- "$1" "$work/printed" || { cat "$work/printed" >&2; fail "it did not print: $1"; }; }
# The largest new class of a run's predictions.
new_class() { awk -F, 'NR > 1 && $3 == 1 { n[$2]++ } END { for (c in n) if (n[c] > most) { most = n[c]; best = c } print best }' "$1/predictions.csv"; }
