#!/usr/bin/env bash
# build/packages/: a Debian package and a tar.gz of the release build. Called by `make package`.
set -euo pipefail
cd "$(dirname "$0")/.."

# The package of the distribution that holds a library the program is linked to. libtorch is none of them: the launcher finds it.
package_of() {
  local file
  file=$(ldconfig -p | awk -v name="$1" '$1 == name { print $NF; exit }')
  [ -n "$file" ] || return 0
  file=$(readlink -f "$file")
  { dpkg-query -S "$file" || dpkg-query -S "${file#/usr}" || dpkg-query -S "/usr$file"; } 2>/dev/null | head -n 1 | cut -d: -f1
}

depends=$(for library in $(objdump -p build/release/libexec/protogcd/protogcd-program | awk '$1 == "NEEDED" { print $2 }' |
    grep -v -e '^libtorch' -e '^libc10'); do
  package_of "$library"
done | sort -u | paste -sd, | sed 's/,/, /g')

rm -rf build/packages
cpack --config build/release/CPackConfig.cmake -B build/packages -D CPACK_DEBIAN_PACKAGE_DEPENDS="$depends" > build/packages.log 2>&1 ||
  { cat build/packages.log; exit 1; }
rm -rf build/packages/_CPack_Packages
ls -1sh build/packages/*.deb build/packages/*.tar.gz
