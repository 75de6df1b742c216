"""Every parser on inputs that a fuzzer makes up, under the address and undefined-behaviour sanitizers; what it learns is kept."""
import os
import pathlib
import random
import re
import subprocess
import time

targets_folder = None  # where `make fuzz` builds; set by the campaign
SLICE_SECONDS = 20


def part(place, references, book, until, seed):
    draw = random.Random(seed)
    targets = sorted((targets_folder / "bin").glob("fuzz_*"))
    if not targets:
        book.add("not done", "fuzzing: no targets are built (make build-fuzz)")
        return
    corpora = pathlib.Path(__file__).resolve().parents[2] / "fuzz/corpus"
    while time.monotonic() < until:
        target = min(targets, key=lambda t: (book.counts[f"seconds of fuzzing | {t.name[5:]}"], draw.random()))
        name = target.name[5:]
        seconds = max(1, int(min(SLICE_SECONDS, until - time.monotonic())))
        learned = targets_folder / "corpus" / name
        findings = targets_folder / "findings"
        learned.mkdir(parents=True, exist_ok=True)
        findings.mkdir(exist_ok=True)
        ended = subprocess.run(
            [target, f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1", "-verbosity=0",
             f"-artifact_prefix={findings}/{name}-", learned, corpora / name],
            capture_output=True, text=True, errors="replace", cwd=place.scratch, env={**os.environ, "TMPDIR": str(place.scratch)})
        book.counts[f"seconds of fuzzing | {name}"] += seconds
        units = re.search(r"number_of_executed_units: (\d+)", ended.stderr)
        book.counts[f"inputs | {name}"] += int(units[1]) if units else 0
        if ended.returncode != 0:
            said = re.findall(r"(?:SUMMARY|Test unit written).*", ended.stderr)
            book.finding("fuzzing", f"{name}: {'; '.join(said) or ended.stderr[-400:]}")
