#!/usr/bin/env python3
"""Every command of the campaign, once, by a program under the address and undefined-behaviour sanitizers (`make asan-program`)."""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from campaign import methods_of
from scenarios import RUN, Scenario, all_scenarios
from trials import last_words
from workplace import DATA, Workplace

# Of containers that libtorch, which is not instrumented, has filled, the sanitizer cannot know the bounds.
ADDRESS = "detect_container_overflow=0:detect_odr_violation=1:allocator_may_return_null=0:abort_on_error=0"
REPORT = re.compile(r"ERROR: (?:Address|Leak)Sanitizer.*|runtime error: .*")


def check_that_reports_come():
    """Programs that are wrong on purpose are reported by this compiler's sanitizers on this machine."""
    faults = {"heap-buffer-overflow": "volatile int i = 4; int* p = new int[4]; volatile int x = p[i]; delete[] p; return x & 0;",
              "LeakSanitizer": "int* volatile p = new int[4]; p = nullptr; return 0;",
              "runtime error": "volatile int i = 2147483647; volatile int j = i + 1; return j & 0;"}
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "wrong"
        for report, body in faults.items():
            subprocess.run(["g++", "-x", "c++", "-", "-g", "-fsanitize=address,undefined", "-o", program], input=f"int main() {{ {body} }}",
                           text=True, check=True)
            said = subprocess.run([program], capture_output=True, text=True).stderr
            if report not in said:
                raise SystemExit(f"the sanitizers see no {report} on this machine: {said}")


def further_scenarios():
    """What writes nothing, or cannot be resumed, and is therefore not among those that are killed."""
    of_a_run = ["--model", "{material}/run", "--threads", 1]
    yield Scenario("evaluate", ["evaluate", *of_a_run, *DATA])
    yield Scenario("estimate-k --compare", ["estimate-k", *DATA, "--backbone", "{material}/tiny.safetensors", "--heads", 1, "--image-size", 32,
                                            "--dtype", "float32", "--epochs", 1, "--cluster-steps", 6, "--k-max", 20, "--compare"])
    yield Scenario("compare", ["compare", "{material}/run", "{material}/run", "--out", "{trial}/compared.html"])
    yield Scenario("a run of a bank", ["discover", "--out", RUN, "--resume"],
                   prepare=[["train", *DATA, "--backbone", "{material}/tiny.safetensors", "--heads", 1, "--image-size", 32, "--k", 16,
                             "--epochs", 1, "--batch-size", 16, "--views", "bank", "--bank-home", "file", "--report=false", "--out", RUN]])
    yield Scenario("an image that is none", ["predict", *of_a_run, "--images", "{material}/run", "--max-bad", 100])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=pathlib.Path, default=pathlib.Path("build/asan-program/bin/protogcd"))
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/asan-program/work"))
    parser.add_argument("--only", default="", help="scenarios whose name has this in it")
    options = parser.parse_args()
    os.environ |= {"ASAN_OPTIONS": ADDRESS, "UBSAN_OPTIONS": "print_stacktrace=1"}
    options.folder.mkdir(parents=True, exist_ok=True)
    check_that_reports_come()
    place = Workplace(options.program.resolve(), None, options.folder.resolve())
    failed = 0
    scenarios = [*all_scenarios(methods_of(options.program)), *further_scenarios()]
    for scenario in [s for s in scenarios if options.only in s.name]:
        place.fresh_trial()
        for words in [*scenario.prepare, scenario.command]:
            ended = place.run(words, timeout=1800)
            found = REPORT.findall(ended.err)
            if found or ended.code != (4 if scenario.name == "an image that is none" else 0):
                failed += 1
                (place.scratch / "report").write_text(ended.err)
                print(f"{scenario.name}: exit code {ended.code}: {(found or [last_words(ended.err)])[0]}\n{ended.err[-3000:]}", flush=True)
                break
        else:
            print(f"{scenario.name}: {ended.seconds:.1f} s, exit code {ended.code}", flush=True)
    print(f"{failed} commands with a report of a sanitizer" if failed else "no reports")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
