#!/usr/bin/env python3
"""Trains configurations on half-labelled tasks of real collections, side by side, and prints one table.

A task is a manifest (path,label,truth), for instance those of a script that hides labels of a known collection. A configuration
is a name and flags of `protogcd train`; `prior-by-counts` among them stands for --prior with the shares that batches
have where all classes are of one size: half of a batch is labelled.

    bench/field_trial.py --program build/cuda/bin/protogcd --tasks trial/aid-11.csv trial/cub-11.csv --seeds 0,1 --jobs 8 \\
        --common "--backbone FILE --mean 0.5 --std 0.5 --views bank --epochs 200" --config "default:" \\
        --config "lambda 1: --lambda-entropy 1" --config "counts: prior-by-counts" --results results.jsonl

Every finished run is a line of --results, and is not run again. All, Old and New are means over the seeds.
"""
import argparse
import collections
import csv
import json
import pathlib
import shlex
import statistics
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor


class Task:
    def __init__(self, manifest):
        self.manifest = pathlib.Path(manifest)
        self.name = self.manifest.stem
        with open(manifest, newline="") as file:
            rows = list(csv.DictReader(file))
        self.old = sorted({row["label"] for row in rows if row["label"]})
        self.k = len(set(self.old) | {row["truth"] for row in rows if row["truth"]})
        self.images = len(rows)
        self.labelled = sum(1 for row in rows if row["label"])

    def prior_by_counts(self, file):
        """Half of a batch is labelled; the other half is drawn from the unlabelled images, of classes of one size."""
        size = self.images / self.k
        unlabelled = self.images - self.labelled
        old = 0.5 / len(self.old) + 0.5 * (size - self.labelled / len(self.old)) / unlabelled
        new = 0.5 * size / unlabelled
        digits = max(2, len(str(self.k - len(self.old))))
        names = self.old + [f"new-{i + 1:0{digits}}" for i in range(self.k - len(self.old))]
        shares = [old] * len(self.old) + [new] * (self.k - len(self.old))
        with open(file, "w", newline="") as out:
            table = csv.writer(out)
            table.writerow(["class", "share"])
            table.writerows((name, share / sum(shares)) for name, share in zip(names, shares))


def one_run(options, task, name, flags, seed):
    with tempfile.TemporaryDirectory() as folder:
        words = []
        for word in shlex.split(options.common) + shlex.split(flags):
            if word == "prior-by-counts":
                task.prior_by_counts(folder + "/prior.csv")
                words += ["--prior", folder + "/prior.csv"]
            else:
                words.append(word)
        command = [options.program, options.verb, "--manifest", str(task.manifest), "--k", str(task.k), "--seed", str(seed), "--out",
                   folder + "/run", "--report=false", "--json", "--log-level", "error", *words]
        done = subprocess.run(command, capture_output=True, text=True)
    line = {"task": task.name, "config": name, "flags": flags, "common": options.common, "seed": seed}
    if done.returncode != 0:
        return line | {"error": done.stderr.strip()[-300:]}
    found = json.loads(done.stdout)
    return line | {key: found[key] for key in ("all", "old", "new", "nmi", "seconds")}


def show(lines, tasks, configs):
    runs = collections.defaultdict(list)
    for line in lines:
        if "all" in line:
            runs[line["task"], line["config"]].append(line)
    print("| task | " + " | ".join(configs) + " |")
    print("|---" * (len(configs) + 1) + "|")
    for task in tasks:
        cells = []
        for config in configs:
            found = runs[task, config]
            cells.append("/".join(f"{statistics.mean(run[key] for run in found):.1f}" for key in ("all", "old", "new")) if found else "")
        print(f"| {task} | " + " | ".join(cells) + " |")
    means = []
    for config in configs:
        scores = [statistics.mean(run["all"] for run in runs[task, config]) for task in tasks if runs[task, config]]
        means.append(f"{statistics.mean(scores):.2f}" if len(scores) == len(tasks) else "")
    print("| mean All | " + " | ".join(means) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--verb", default="train")
    parser.add_argument("--tasks", nargs="+", required=True)
    parser.add_argument("--config", action="append", required=True, metavar="NAME: FLAGS")
    parser.add_argument("--common", default="", help="flags of every run")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--results", type=pathlib.Path, required=True)
    options = parser.parse_args()

    tasks = {task.name: task for task in map(Task, options.tasks)}
    configs = {name.strip(): flags.strip() for name, flags in (config.split(":", 1) for config in options.config)}
    lines = [json.loads(line) for line in options.results.read_text().splitlines()] if options.results.exists() else []
    done = {(line["task"], line["config"], line["flags"], line["common"], line["seed"]) for line in lines if "all" in line}
    seeds = [int(seed) for seed in options.seeds.split(",")]
    todo = [(task, name, flags, seed) for seed in seeds for task in tasks.values() for name, flags in configs.items()
            if (task.name, name, flags, options.common, seed) not in done]
    with open(options.results, "a") as results, ThreadPoolExecutor(options.jobs) as pool:
        for line in pool.map(lambda job: one_run(options, *job), todo):
            lines.append(line)
            results.write(json.dumps(line) + "\n")
            results.flush()
            if "error" in line:
                print(line["task"], line["config"], line["error"])
    wanted = [line for line in lines if line["config"] in configs and line["common"] == options.common and line["seed"] in seeds
              and line["flags"] == configs[line["config"]]]
    show(wanted, tasks, configs)


main()
