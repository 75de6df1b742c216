#!/usr/bin/env bash
# The protections that a binary was linked with, read from the file itself: hardening.sh FILE... (a shared library may be among them).
# Position-independent, relocations read-only and resolved at the start, no stack that can be executed, guarded stacks, checked copies.
# A program made without any of it shows first that each check can fail.
set -euo pipefail

faults_of() { # what FILE lacks, in words
  local headers dynamic symbols
  headers=$(readelf -Wh -l "$1") dynamic=$(readelf -Wd "$1") symbols=$(readelf -W --dyn-syms "$1")
  grep -q 'Type: *DYN' <<< "$headers" || echo "is not position-independent"
  grep -q GNU_RELRO <<< "$headers" || echo "has relocations that can be written to"
  grep -q -e BIND_NOW -e 'Flags:.*NOW' <<< "$dynamic" || echo "resolves names late"
  grep -q 'GNU_STACK.* RW ' <<< "$headers" || echo "has a stack that can be executed"
  grep -q __stack_chk_fail <<< "$symbols" || echo "has no guarded stacks"
  grep -q '__[a-z]*_chk@' <<< "$symbols" || echo "has no checked copies"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat > "$work/bare.c" <<'C'
#include <string.h>
int main(int count, char** words) { char text[64]; memcpy(text, words[0], (unsigned)count); return text[0]; }
C
cc -O2 -fno-pie -no-pie -U_FORTIFY_SOURCE -fno-stack-protector -Wl,-z,norelro,-z,lazy,-z,execstack -o "$work/bare" "$work/bare.c" 2> "$work/said" ||
  { cat "$work/said" >&2; exit 1; }
if [ "$(faults_of "$work/bare" | wc -l)" -ne 6 ]; then
  echo "hardening: a program without protections is said to lack only:" >&2
  faults_of "$work/bare" >&2
  exit 1
fi

status=0
for file in "$@"; do
  while read -r fault; do
    echo "$file $fault" >&2
    status=1
  done < <(faults_of "$file")
done
exit $status
