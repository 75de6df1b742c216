#!/usr/bin/env bash
# clang-tidy 16 on our sources, several at a time: most of its work is for the headers that they share.
#
#   scripts/tidy.sh all       every source; where none has a fault, .ci/tidied names the commit
#   scripts/tidy.sh changed   those that changed since that commit (of a header, a source that includes it)
set -euo pipefail
cd "$(dirname "$0")/.."
which=${1:-all}
mapfile -t all < <(git ls-files 'protogcd/*.cpp')

sources_changed_since() {
  git diff --name-only --diff-filter=d "$1" -- 'protogcd/*.cpp' 'protogcd/*.h' .clang-tidy | while read -r file; do
    case $file in
      *.cpp) echo "$file" ;;
      *.h) if [ -f "${file%.h}.cpp" ]; then echo "${file%.h}.cpp"; else grep -l --include='*.cpp' -rF "\"$file\"" protogcd | sort | sed -n 1p || true; fi ;;
      .clang-tidy) printf '%s\n' "${all[@]}" ;;
    esac
  done | sort -u
}

# The units of the compile database that hold one of the sources named on stdin.
units_of() {
  python3 -c '
import json, re, sys
wanted = {line.strip() for line in sys.stdin}
for unit in sorted({entry["file"] for entry in json.load(open("build/tidy/compile_commands.json"))}):
    held = re.findall(r"#include \"(.*)\"", open(unit).read()) if "/Unity/" in unit else [unit]
    if any(name.endswith("/" + source) for name in held for source in wanted):
        print(unit)'
}

tidied=$(cat .ci/tidied 2>/dev/null || true)
if [ "$which" = changed ] && git cat-file -e "$tidied^{commit}" 2>/dev/null; then
  mapfile -t sources < <(sources_changed_since "$tidied")
  since=", those changed since $(git rev-parse --short "$tidied")"
else
  sources=("${all[@]}")
  since=
fi
echo "clang-tidy: ${#sources[@]} of ${#all[@]} sources$since"
[ ${#sources[@]} -gt 0 ] || exit 0

# clang has no OpenMP runtime here (omp.h).
printf '%s\n' "${sources[@]}" | units_of | xargs -n 1 -P "${JOBS:-$(nproc)}" \
  clang-tidy-16 --quiet -p build/tidy --warnings-as-errors='*' --extra-arg=-fno-openmp --extra-arg=-Wno-unknown-warning-option \
  2> >(grep -v 'warnings generated' >&2)
echo "clang-tidy: no faults"

if [ "$which" = all ]; then
  if git diff --quiet HEAD -- protogcd .clang-tidy; then
    git rev-parse HEAD > .ci/tidied
  else
    echo "clang-tidy: .ci/tidied stays as it is: there are changes that are not committed"
  fi
fi
