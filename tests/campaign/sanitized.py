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
import every_command
from workplace import Workplace

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


def first_report(ended):
    found = REPORT.search(ended.err)
    return found and found[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=pathlib.Path, default=pathlib.Path("build/asan-program/bin/protogcd"))
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/asan-program/work"))
    parser.add_argument("--only", default="", help="scenarios whose name has this in it")
    options = parser.parse_args()
    os.environ |= {"ASAN_OPTIONS": ADDRESS, "UBSAN_OPTIONS": "print_stacktrace=1"}
    options.folder.mkdir(parents=True, exist_ok=True)
    check_that_reports_come()
    failed = every_command.failures(Workplace(options.program.resolve(), None, options.folder.resolve()), options.only, first_report)
    print(f"{failed} commands with a report of a sanitizer" if failed else "no reports")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
