#!/usr/bin/env python3
"""The promises of protogcd, tried in large: killed at any moment, files that fail, signals, two at once, little memory, hours of work,
hostile input, runs from elsewhere. What was done is kept, so that sittings add up over days; a page tells what was tried and what was found.

    tests/campaign/campaign.py --program build/release/bin/protogcd --hours 2

The parts take turns, two at a time. Exit code 1 where something was found in this sitting.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import threading
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import disturbances
import endurance
import faults
import foreign
import fuzzing
import kills
import summary
from scenarios import all_scenarios
from trials import Book, Reference
from workplace import Workplace

# Of an hour, what each part gets.
SHARES = {"kills": 0.25, "faults": 0.25, "disturbances": 0.12, "pairs": 0.1, "foreign": 0.08, "fuzzing": 0.12, "endurance": 0.08}
PARTS = {"kills": kills.part, "faults": faults.part, "disturbances": disturbances.part, "pairs": disturbances.part_of_pairs,
         "foreign": foreign.part, "fuzzing": fuzzing.part, "endurance": endurance.part}


class References:
    """Undisturbed runs, made when they are first asked for."""

    def __init__(self, place, scenarios, book):
        self.place, self.scenarios, self.book, self.known = place, {s.name: s for s in scenarios}, book, {}
        self.names = list(self.scenarios)

    def of(self, name):
        if name not in self.known:
            self.known[name] = Reference(self.place, self.scenarios[name])
            for difference in self.known[name].is_repeatable:
                self.book.finding("undisturbed", f"{name}, twice the same command: {difference}")
        return self.known[name]


def build_shim(folder):
    shim = folder / "shim.so"
    source = pathlib.Path(__file__).with_name("shim.c")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", shim, source, "-ldl"], check=True)
    return shim


def methods_of(program):
    said = subprocess.run([program, "methods", "--json"], capture_output=True, text=True, check=True).stdout
    return [m["name"] for m in json.loads(said)["methods"] if m["name"] != "kmeans"]


def sitting(worker, arguments, shim, book, seconds, seed):
    """One worker's turns: every part for its share of the time."""
    place = Workplace(arguments.program, shim, arguments.folder / f"worker-{worker}")
    scenarios = [s for s in all_scenarios(methods_of(arguments.program)) if arguments.only in s.name]
    references = References(place, scenarios, book)
    names = arguments.parts or list(SHARES)
    whole = sum(SHARES[name] for name in names)
    # The second worker begins in the middle, so that the two are seldom at the same part.
    names = names[worker * len(names) // 2:] + names[:worker * len(names) // 2]
    for name in names:
        PARTS[name](place, references, book, time.monotonic() + seconds * SHARES[name] / whole, f"{seed}-{worker}-{name}")
        book.save()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=pathlib.Path("build/release/bin/protogcd"))
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/campaign"))
    parser.add_argument("--hours", type=float, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--parts", nargs="*", choices=list(PARTS), help="these alone")
    parser.add_argument("--only", default="", help="scenarios whose name has this in it")
    parser.add_argument("--fuzz", type=pathlib.Path, default=pathlib.Path("build/fuzz"), help="where `make fuzz` built its targets")
    arguments = parser.parse_args()
    for name in ("program", "folder", "fuzz"):
        setattr(arguments, name, getattr(arguments, name).resolve())
    arguments.folder.mkdir(parents=True, exist_ok=True)
    fuzzing.targets_folder = arguments.fuzz
    book = Book(arguments.folder)
    shim, seed = build_shim(arguments.folder), int(time.time())
    found_before, begun = sum(1 for _ in open(book.found)) if book.found.exists() else 0, time.monotonic()
    failures = []

    def work(worker):
        try:
            sitting(worker, arguments, shim, book, arguments.hours * 3600, seed)
        except BaseException as error:  # told when all have ended
            failures.append(error)
            traceback.print_exc()

    workers = [threading.Thread(target=work, args=(i,)) for i in range(arguments.jobs)]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        time.sleep(5)
        book.save()
    book.counts["sittings"] += 1
    book.counts["seconds of workers"] += int((time.monotonic() - begun) * arguments.jobs)
    book.save()
    page = summary.write(arguments.folder, book)
    found = (sum(1 for _ in open(book.found)) if book.found.exists() else 0) - found_before
    for failure in failures:
        print(f"ended early: {failure}")
    print(f"{found} findings in this sitting; all of them: {page}")
    return 1 if found or failures else 0


if __name__ == "__main__":
    sys.exit(main())
