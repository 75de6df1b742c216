#!/usr/bin/env bash
# build/packages/protogcd-VERSION-source.tar.gz: the committed sources and the bundled report page, which needs npm to be made.
# Called by `make dist`.
set -euo pipefail
cd "$(dirname "$0")/.."
name=protogcd-$(sed -n 's/^set(CPACK_PACKAGE_VERSION "\(.*\)")$/\1/p' build/release/CPackConfig.cmake)
page=build/release/web
[ -f $page/report.html ] || { echo "dist: this build has no report page (npm was not found)" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git archive --prefix="$name/" HEAD | tar -x -C "$work"
mkdir -p "$work/$name/web/bundle" build/packages
cp $page/report.html $page/report-page-licences.txt "$work/$name/web/bundle"
tar -czf "build/packages/$name-source.tar.gz" -C "$work" "$name"
ls -1sh "build/packages/$name-source.tar.gz"
