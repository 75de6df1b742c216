#!/usr/bin/env python3
"""Whether kills and faults find what they are there for: made-up programs that are wrong on purpose, and one that is not.

    tests/campaign/self_check.py
"""
import collections
import pathlib
import random
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import faults
import kills
from campaign import build_shim
from scenarios import Scenario
from trials import Book, Reference
from workplace import Workplace

# Each writes a table of three lines; they differ in `write(path)`.
PROGRAM = '''#!{python} -IS
import os, sys

def lines():
    yield from ("name,number\\n", "one,1\\n", "two,2\\n")

{write}

path = sys.argv[1]
if os.path.exists(path) and "--overwrite" not in sys.argv:
    print(f"error: {{path}} is there already\\n  add --overwrite", file=sys.stderr)
    sys.exit(2)
try:
    write(path)
except OSError as error:
    print(f"error: {{path}}: {{error.strerror}}", file=sys.stderr)
    sys.exit(5)
'''
WHOLE_OR_NOT = '''
def write(path):
    unfinished = os.path.join(os.path.dirname(path), "." + os.path.basename(path) + ".partial")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        for line in lines():
            left = line.encode()
            while left:
                left = left[os.write(descriptor, left):]
        os.fsync(descriptor)
        os.close(descriptor)
        os.rename(unfinished, path)
    except OSError:
        os.path.exists(unfinished) and os.unlink(unfinished)
        raise
'''
IN_PLACE = '''
def write(path):
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for line in lines():
        left = line.encode()
        while left:
            left = left[os.write(descriptor, left):]
'''
# What is wrong, and a part that has to find it.
WRONG = {
    "writes in place": (IN_PLACE, "kills"),
    "takes half of a write for all of it": (WHOLE_OR_NOT.replace("left = left[os.write(descriptor, left):]", "left = b'' * os.write(descriptor, left)"), "faults"),
    "hides an error": (WHOLE_OR_NOT.replace("        raise\n", "        pass\n"), "faults"),
    "ends by a bug": (WHOLE_OR_NOT.replace("        raise\n", "        raise RuntimeError\n"), "faults"),
    "names another file": (WHOLE_OR_NOT.replace("        raise\n", "        sys.exit(print('error: something failed', file=sys.stderr) or 5)\n"), "faults"),
    "leaves what is unfinished": (WHOLE_OR_NOT.replace("os.path.exists(unfinished) and os.unlink(unfinished)", "pass")
                                  .replace('".partial"', 'str(os.getpid())'), "kills"),
    "goes on with what is not its own": (WHOLE_OR_NOT.replace("os.O_TRUNC", "os.O_APPEND"), "kills"),
}


class Room(Workplace):
    def make_material(self):
        self.material.mkdir(exist_ok=True)
        (self.material / "complete").touch()


def findings_of(write, folder, rounds):
    """What kills and faults say of the program, by part."""
    folder.mkdir()
    program = folder / "program"
    program.write_text(PROGRAM.format(python=sys.executable, write=write))
    program.chmod(0o755)
    place, book, draw = Room(program, build_shim(folder), folder / "room"), Book(folder), random.Random(1)
    book.finding = lambda part, what, **details: found[part].append(what)
    found = collections.defaultdict(list)
    reference = Reference(place, Scenario("a table", ["{trial}/table.csv"]))
    for _ in range(rounds):
        kills.kill_once(place, reference, book, draw)
    for kind in faults.all_kinds():
        for site in [site for call, site in reference.sites if call == kind[0]][:2]:
            faults.fail_once(place, reference, book, draw, kind[0], site, *kind[1:])
    return found


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for part, said in findings_of(WHOLE_OR_NOT, folder / "right", 25).items():
            failed += 1
            print(f"{part} find fault with a program that is right: {said[:3]}")
        for i, (what, (write, part)) in enumerate(WRONG.items()):
            found = findings_of(write, folder / f"wrong-{i}", 25)
            print(f"{what}: {part}: {(found[part] or ['not found'])[0][:150]}")
            failed += not found[part]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
