#!/usr/bin/env python3
"""What ten million images cost, with made-up images and features (docs/scaling.md): seconds for a million and the most memory of each
part, and which part is the first that this machine cannot do.

    bench/ten_million.py --program build/release/bin/protogcd --images 10000000 --rows 1000000

Lists and tables have `images` lines; features and clusters `rows`, of which a million of 384 halves are 0.7 GiB. Needs numpy.
"""
import argparse
import csv
import os
import pathlib
import re
import subprocess
import time

import numpy

CLASSES = 10_000
WIDTH = 384


class Measured:
    """A command's seconds, and the most memory that it had of its own (pages of mapped files are the system's)."""

    def __init__(self, words, **settings):
        begun = time.monotonic()
        self.memory = 0
        with open(settings["folder"] / "said", "w+") as said:
            process = subprocess.Popen([str(word) for word in words], stdout=said, stderr=said)
            while process.poll() is None:
                try:
                    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
                    self.memory = max(self.memory, int(re.search(r"RssAnon:\s+(\d+)", status)[1]) / 1024)
                except (OSError, TypeError):
                    pass
                time.sleep(0.02)
            self.seconds = time.monotonic() - begun
            said.seek(0)
            self.said = said.read()
        if process.returncode != 0:
            self.said = f"exit code {process.returncode}: {self.said[-300:]}"

    def row(self, name, count, of_all):
        """Of `count` lines or rows, and what that makes of `of_all`."""
        return (f"| {name} | {count:,} | {self.seconds:.1f} | {self.seconds / count * 1e6:.1f} | {self.memory:,.0f} | "
                f"{self.seconds / count * of_all / 60:.1f} |")


def path_of(image):
    return f"photos/{image // 1000:05d}/{image:08d}.jpg"


def write_lists(folder, images):
    """A list of paths, a manifest with labels of half of the classes' images and truths of all, and the last images for real."""
    with open(folder / "list.txt", "w") as plain, open(folder / "manifest.csv", "w", newline="") as table:
        rows = csv.writer(table)
        rows.writerow(["path", "label", "truth"])
        for image in range(images):
            plain.write(path_of(image) + "\n")
            of_class = f"class {image % CLASSES:05d}"
            rows.writerow([path_of(image), of_class if image % CLASSES < CLASSES // 2 and image // CLASSES % 2 else "", of_class])


def write_features(folder, rows):
    """Clouds around as many centres as classes, written part by part."""
    draw = numpy.random.default_rng(0)
    centres = draw.standard_normal((CLASSES, WIDTH), dtype=numpy.float32)
    features = numpy.lib.format.open_memmap(folder / "features.npy", mode="w+", dtype=numpy.float16, shape=(rows, WIDTH))
    for begin in range(0, rows, 100_000):
        numbers = numpy.arange(begin, min(rows, begin + 100_000))
        features[numbers] = centres[numbers % CLASSES] + draw.standard_normal((len(numbers), WIDTH), dtype=numpy.float32)
    features.flush()
    with open(folder / "features.csv", "w") as paths, open(folder / "truth.csv", "w") as truth:
        paths.write("path\n")
        truth.write("path,label\n")
        for row in range(rows):
            paths.write(path_of(row) + "\n")
            truth.write(f"{path_of(row)},class {row % CLASSES:05d}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=pathlib.Path("build/release/bin/protogcd"))
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/ten_million"))
    parser.add_argument("--images", type=int, default=10_000_000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--sample", type=int, default=100_000, help="rows that k-means is fitted on")
    parser.add_argument("--parts", default="list,manifest,embed,cluster")
    options = parser.parse_args()
    folder, program = options.folder.resolve(), options.program.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    print("| part | of | seconds | a million | MiB | ten million, minutes |\n|---|---|---|---|---|---|")

    def measure(name, count, *words):
        measured = Measured([program, *words], folder=folder)
        print(measured.row(name, count, 10_000_000), flush=True)
        if measured.said.startswith("exit code"):
            print(measured.said, flush=True)
        return measured.said

    parts = options.parts.split(",")
    if {"list", "manifest"} & set(parts):
        write_lists(folder, options.images)
    if {"list", "embed"} & set(parts):
        demo = folder / "demo"
        if not demo.exists():
            subprocess.run([program, "datasets", "make-demo", "--out", demo, "--per-class", "50"], check=True, stdout=subprocess.DEVNULL)
            subprocess.run([program, "discover", "--quick", "--labelled", demo / "labelled", "--unlabelled", demo / "unlabelled", "--k", "16",
                            "--report=false", "--out", folder / "model"], check=True, stdout=subprocess.DEVNULL)
    if "list" in parts:
        for image in range(options.images - 16, options.images):
            link = folder / path_of(image)
            link.parent.mkdir(parents=True, exist_ok=True)
            if not link.exists():
                link.symlink_to(demo / "labelled" / sorted(os.listdir(demo / "labelled"))[0] / "0001.png")
        measure("a list of paths, its digest, the last 16 predicted", options.images, "predict", "--model", "model", "--images", "list.txt",
                "--shard", f"{options.images // 16}/{options.images // 16}", "--out", "last.csv", "--overwrite")
    if "manifest" in parts:
        measure("a manifest read, split, written", options.images, "datasets", "split", "--manifest", "manifest.csv", "--csv", "split.csv",
                "--overwrite")
    if "embed" in parts:
        count = len(list((demo / "unlabelled").iterdir()))
        measure("embedded by the built-in backbone", count, "embed", "--images", demo / "unlabelled", "--out", "small.npy", "--overwrite")
        measure("predicted with it", count, "predict", "--model", "model", "--images", demo / "unlabelled", "--out", "small.csv", "--overwrite")
    if "cluster" in parts:
        write_features(folder, options.rows)
        words = ["cluster", "--embeddings", "features.npy", "--k", CLASSES, "--no-labels", "--sample", options.sample, "--starts", 1,
                 "--max-iterations", 20, "--json", "--overwrite", "--out", "clusters.csv"]
        measure(f"k-means of {options.sample:,}, K = {CLASSES:,}, then all", options.rows, *words)
        print(measure("the same and its accuracy", options.rows, *words, "--truth", "truth.csv")[-700:])


if __name__ == "__main__":
    main()
