#!/usr/bin/env python3
"""How well `protogcd estimate-k` counts the classes of drawn collections (docs/class-number.md).

Each seed is a task of its own: a drawn collection, 8 to 20 of its categories, some of them old.

    bench/class_number.py --program build/release/bin/protogcd --seeds 100-109 --compare --epochs 60
"""
import argparse
import csv
import json
import pathlib
import random
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

RULES = ["neighbours", "clusters", "paper", "max-acc", "silhouette", "elbow"]


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
    result = run(options.program, "train", "--manifest", manifest, "--views", "bank", "--k", k, "--epochs",
                 options.epochs, "--eval-every", options.epochs, "--seed", seed, "--out", folder / f"k{k}",
                 "--threads", options.threads, "--device", options.device, "--overwrite")
    return result["all"]


def solve(options, seed):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        manifest, k, k_old = make_task(options.program, seed, folder)
        found = run(options.program, "estimate-k", "--manifest", manifest, "--seed", seed, "--threads",
                    options.threads, "--device", options.device, *(["--compare"] if options.compare else []))
        row = {"seed": seed, "K": k, "K_old": k_old, "low": found["interval"][0], "high": found["interval"][1],
               "sure": found["sure"], "seconds": round(found["seconds"], 1)}
        row["clusters"] = found["k"]
        if options.compare:
            row.update({method: found["methods"][method]["k"] for method in RULES})
        if options.epochs:
            row["All, K known"] = round(accuracy(options, manifest, seed, k, folder), 1)
            row["All, K estimated"] = round(accuracy(options, manifest, seed, found["k"], folder), 1)
        return row


def print_table(rows):
    header = list(rows[0])
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(str(value) for value in row.values()) + " |")
    for method in (method for method in RULES if method in rows[0]):
        errors = [abs(row[method] - row["K"]) for row in rows]
        print(f"{method}: mean absolute error {sum(errors) / len(errors):.2f}, largest {max(errors)}")
    inside = sum(row["low"] <= row["K"] <= row["high"] for row in rows)
    widest = max((row["high"] - row["low"]) / row["K"] for row in rows)
    print(f"truth inside the interval: {inside} of {len(rows)}; widest interval {100 * widest:.0f}% of K")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--seeds", default="1-5", help="FIRST-LAST")
    parser.add_argument("--compare", action="store_true", help="all methods")
    parser.add_argument("--epochs", type=int, default=0, help="also train with the known and the estimated K")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    options.program = str(pathlib.Path(options.program).resolve())
    first, last = map(int, options.seeds.split("-"))
    with ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(lambda seed: solve(options, seed), range(first, last + 1)))
    print_table(rows)


if __name__ == "__main__":
    main()
