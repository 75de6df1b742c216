#!/usr/bin/env python3
"""How well `protogcd estimate-k` counts the classes of collections whose truth is known (docs/class-number.md).

Each seed is a task of its own: a drawn collection, 8 to 20 of its categories, some of them old. Or tasks are manifests with a truth
column, of real collections.

    bench/class_number.py --program build/release/bin/protogcd --seeds 100-109 --rules neighbours,elbow --epochs 60
    bench/class_number.py --program build/release/bin/protogcd --tasks aid-1.csv cub-1.csv --flags "--backbone FILE --mean 0.5 --std 0.5"
"""
import argparse
import csv
import json
import math
import pathlib
import random
import shlex
import statistics
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor


def run(program, *words):
    result = subprocess.run([program, *map(str, words), "--json"], capture_output=True, text=True)
    if result.returncode != 0:
        raise SystemExit(result.stderr)
    return json.loads(result.stdout)


def images_by_category(folder):
    images = {}
    for file in sorted(folder.glob("labelled/*/*.png")):
        images.setdefault(file.parent.name, []).append(file)
    with open(folder / "truth.csv", newline="") as table:
        for row in csv.DictReader(table):
            images.setdefault(row["label"], []).append(folder / row["path"])
    return images


def make_task(program, seed, folder):
    """A manifest of K categories, K_old of them old: half of an old one's images are labelled."""
    run(program, "datasets", "make-demo", "--out", folder / "demo", "--seed", seed)
    images = images_by_category(folder / "demo")
    draw = random.Random(seed)
    k = 8 + seed * 7 % 13
    k_old = max(3, round(k * draw.choice([0.4, 0.5, 0.6, 0.7])))
    categories = draw.sample(sorted(images), k)
    manifest = folder / "manifest.csv"
    with open(manifest, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["path", "label", "split", "truth"])
        for number, category in enumerate(categories):
            files = sorted(images[category])
            draw.shuffle(files)
            for i, image in enumerate(files):
                labelled = number < k_old and i < len(files) // 2
                table.writerow([image, category if labelled else "", "train", category])
    return manifest, k, k_old


def accuracy(options, manifest, seed, k, folder):
    result = run(options.program, "discover", "--manifest", manifest, "--k", k, "--epochs", options.epochs, "--eval-every",
                 options.epochs, "--seed", seed, "--out", folder / f"k{k}", "--report=false", *options.common,
                 *shlex.split(options.training))
    return result["all"]


def count(options, name, manifest, seed, folder):
    row = {"task": name}
    for rule in options.rules:
        found = run(options.program, "estimate-k", "--manifest", manifest, "--seed", seed, "--rule", rule, *options.common)
        if rule == options.rules[0]:
            row |= {"K": found["truth"], "K_old": found["k_old"], "low": found["interval"][0], "high": found["interval"][1],
                    "sure": found["sure"], "seconds": round(found["seconds"], 1)}
        row[rule] = found["k"]
    if options.epochs:
        row["All, K known"] = round(accuracy(options, manifest, seed, row["K"], folder), 1)
        row["All, K estimated"] = round(accuracy(options, manifest, seed, row[options.rules[0]], folder), 1)
    return row


def solve(options, task):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if isinstance(task, int):
            manifest, _, _ = make_task(options.program, task, folder)
            return count(options, str(task), manifest, task, folder)
        return count(options, pathlib.Path(task).stem, task, 0, folder)


def print_table(rows, rules):
    header = list(rows[0])
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(str(value) for value in row.values()) + " |")
    for rule in rules:
        errors = [abs(row[rule] - row["K"]) for row in rows]
        ratios = [abs(math.log(row[rule] / row["K"])) for row in rows]
        print(f"{rule}: mean absolute error {statistics.mean(errors):.2f}, largest {max(errors)}; "
              f"mean |ln(K/truth)| {statistics.mean(ratios):.3f}, largest {max(ratios):.2f}")
    inside = sum(row["low"] <= row["K"] <= row["high"] for row in rows)
    widths = [(row["high"] - row["low"]) / row["K"] for row in rows]
    print(f"truth inside the interval: {inside} of {len(rows)}; intervals are {100 * statistics.median(widths):.0f}% of K wide in the median, "
          f"the widest {100 * max(widths):.0f}%")
    sure = [row for row in rows if row["sure"] == "sure"]
    print(f"sure: {len(sure)}, within 10% of the truth {sum(abs(row[rules[0]] - row['K']) <= 0.1 * row['K'] for row in sure)}")
    if "All, K known" in header:
        print(", ".join(f"mean {column} {statistics.mean(row[column] for row in rows):.1f}" for column in ("All, K known", "All, K estimated")))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--seeds", default="1-5", help="FIRST-LAST, of drawn collections")
    parser.add_argument("--tasks", nargs="+", help="manifests instead")
    parser.add_argument("--rules", default="neighbours", help="names of --rule, the one to be judged first")
    parser.add_argument("--flags", default="", help="flags of every command, a backbone for instance")
    parser.add_argument("--epochs", type=int, default=0, help="also discover with the known and the estimated K")
    parser.add_argument("--training", default="", help="flags of discover alone")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    options.program = str(pathlib.Path(options.program).resolve())
    options.rules = options.rules.split(",")
    options.common = [*shlex.split(options.flags), "--threads", options.threads, "--device", options.device]
    first, last = map(int, options.seeds.split("-"))
    with ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(lambda task: solve(options, task), options.tasks or range(first, last + 1)))
    print_table(rows, options.rules)


if __name__ == "__main__":
    main()
