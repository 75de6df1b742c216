#!/usr/bin/env bash
# Runs every fuzz target of build/fuzz for a bounded time, starting from the kept corpus. What a target finds is left in
# build/fuzz/findings: fix it, then keep the input in fuzz/corpus/<target>/, where an ordinary test replays it.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-30}
findings=$PWD/build/fuzz/findings  # some targets work in a folder of their own
mkdir -p "$findings"
failed=0
TMPDIR=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
for target in build/fuzz/bin/fuzz_*; do
  name=$(basename "$target")
  name=${name#fuzz_}
  work=build/fuzz/corpus/$name
  mkdir -p "$work"
  echo "== $name, $seconds s"
  if ! "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 \
      -artifact_prefix="$findings/$name-" "$work" "fuzz/corpus/$name" > "$findings/$name.log" 2>&1; then
    failed=1
    echo "   FOUND SOMETHING, see $findings/$name.log:"
    grep -m3 -E 'ERROR|SUMMARY|Test unit written' "$findings/$name.log" | sed 's/^/   /' || true
  fi
  grep -E 'number_of_executed_units' "$findings/$name.log" | sed 's/^stat::/   /' || true
done
exit $failed
