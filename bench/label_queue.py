#!/usr/bin/env python3
"""Does labelling the queue of a run (label-next.csv) help more than labelling images at random (docs/rounds.md)?

Each seed is a task of its own. In every round twenty images get their true labels, as corrections of the run before: those
of its queue in one arm, random ones in the other. Both arms begin with the same run, and all are judged on the images that
neither arm ever labelled.

    bench/label_queue.py --program build/release/bin/protogcd --seeds 1-3 -- --epochs 60
    bench/label_queue.py --program build/release/bin/protogcd --seeds 1-3 --manifest 'aid-{seed}.csv' -- \\
        --backbone vit.safetensors --mean 0.5 --std 0.5 --epochs 30

What follows -- goes to `discover`. The first command draws the demo of each seed.
"""
import argparse
import csv
import json
import pathlib
import random
import statistics
import subprocess
from concurrent.futures import ThreadPoolExecutor


def run(program, *words):
    result = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    if result.returncode != 0:
        raise SystemExit(result.stderr)
    return result.stdout


def table(file):
    with open(file, newline="") as text:
        return list(csv.DictReader(text))


class Task:
    """The images of a seed: the words that name them, the truth of each, K, and the classes that are old."""

    def __init__(self, options, seed):
        if options.manifest:
            manifest = pathlib.Path(options.manifest.format(seed=seed)).resolve()
            rows = table(manifest)
            self.words = ["--manifest", manifest]
            self.truth = {str(manifest.parent / row["path"]): row["truth"] for row in rows}
            self.old = {row["label"] for row in rows if row["label"]}
        else:
            demo = options.out / f"demo-{seed}"
            run(options.program, "datasets", "make-demo", "--out", demo, "--seed", seed, "--overwrite")
            self.words = ["--labelled", demo / "labelled", "--unlabelled", demo / "unlabelled", "--truth", demo / "truth.csv"]
            self.truth = {str(demo / row["path"]): row["label"] for row in table(demo / "truth.csv")
                          if not row["path"].startswith("outliers/")}
            self.old = {folder.name for folder in (demo / "labelled").iterdir()}
        self.k = len(self.old | set(self.truth.values()))


def best_matching(counts):
    """The most images that a one-to-one matching of rows to columns gets right (shortest augmenting paths)."""
    size = max(len(counts), len(counts[0]))
    cost = [[-counts[i][j] if i < len(counts) and j < len(counts[0]) else 0 for j in range(size)] for i in range(size)]
    u, v, row_of, way = [0] * (size + 1), [0] * (size + 1), [0] * (size + 1), [0] * (size + 1)
    for i in range(1, size + 1):
        row_of[0], column = i, 0
        least, done = [float("inf")] * (size + 1), [False] * (size + 1)
        while row_of[column]:
            done[column] = True
            row, step, following = row_of[column], float("inf"), 0
            for j in range(1, size + 1):
                if done[j]:
                    continue
                reduced = cost[row - 1][j - 1] - u[row] - v[j]
                if reduced < least[j]:
                    least[j], way[j] = reduced, column
                if least[j] < step:
                    step, following = least[j], j
            for j in range(size + 1):
                if done[j]:
                    u[row_of[j]] += step
                    v[j] -= step
                else:
                    least[j] -= step
            column = following
        while column:
            row_of[column], column = row_of[way[column]], way[column]
    return v[0]


def accuracies(predicted, truth, images):
    """In percent: with the best matching of found classes to true ones, and by their names as they stand."""
    found = {name: i for i, name in enumerate(sorted({predicted[image] for image in images}))}
    true = {name: i for i, name in enumerate(sorted({truth[image] for image in images}))}
    counts = [[0] * len(true) for _ in found]
    for image in images:
        counts[found[predicted[image]]][true[truth[image]]] += 1
    named = sum(predicted[image] == truth[image] for image in images)
    return 100 * best_matching(counts) / len(images), 100 * named / len(images)


def queue(folder, count, draw):
    return [row["path"] for row in table(folder / "label-next.csv")[:count]]


def at_random(folder, count, draw):
    return draw.sample([row["path"] for row in table(folder / "predictions.csv")], count)


ARMS = {"queue": queue, "random": at_random}


def discover(options, task, seed, out, *more):
    run(options.program, "discover", *task.words, "--k", task.k, "--seed", seed, "--views", "bank", "--eval-every", 1000,
        "--report=false", "--threads", options.threads, "--device", options.device, "--out", out, "--overwrite", *options.more,
        *more)
    return {row["path"]: row["class"] for row in table(out / "predictions.csv")}


def go_rounds(options, task, seed, arm, first):
    """What each round predicted, and which images were labelled in it."""
    folder, predicted = options.out / f"seed-{seed}", [first]
    previous, chosen, draw = folder / "first", [], random.Random(seed)
    for number in range(1, options.rounds + 1):
        chosen.append(ARMS[arm](previous, options.labels, draw))
        corrections = folder / f"{arm}-{number}.csv"
        with open(corrections, "w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["action", "path", "class", "target"])
            for image in chosen[-1]:
                found, truth = predicted[-1][image], task.truth[image]
                rows.writerow(["accept", image, found, ""] if found == truth else ["move", image, found, truth])
        out = folder / f"{arm}-{number}"
        predicted.append(discover(options, task, seed, out, "--corrections", corrections, "--previous", previous))
        previous = out
    return predicted, chosen


def solve(options, seed, pool):
    (options.out / f"seed-{seed}").mkdir(parents=True, exist_ok=True)
    task = Task(options, seed)
    first = discover(options, task, seed, options.out / f"seed-{seed}" / "first")
    going = {arm: pool.submit(go_rounds, options, task, seed, arm, first) for arm in options.arms}
    arms = {arm: future.result() for arm, future in going.items()}
    labelled = {image for _, chosen in arms.values() for images in chosen for image in images}
    judged = [image for image in first if image not in labelled]
    rows = []
    for arm, (predicted, chosen) in arms.items():
        for number in range(options.rounds + 1):
            matched, named = accuracies(predicted[number], task.truth, judged)
            own = list(predicted[number])
            given = [image for images in chosen[:number] for image in images]
            rows.append({"seed": seed, "arm": arm, "round": number, "images": len(judged), "matched": round(matched, 2),
                         "named": round(named, 2), "matched, own images": round(accuracies(predicted[number], task.truth, own)[0], 2),
                         "new classes with a label": len({task.truth[image] for image in given} - task.old),
                         "new classes": task.k - len(task.old)})
    return rows


def summarise(rows, options):
    print("| arm | round | matched | named | matched, own images | new classes with a label |\n|---|---|---|---|---|---|")
    for arm in options.arms:
        for number in range(options.rounds + 1):
            some = [row for row in rows if row["arm"] == arm and row["round"] == number]
            cells = [f"{statistics.mean(values):.1f} ({min(values):.1f} to {max(values):.1f})"
                     for values in ([row[key] for row in some] for key in ("matched", "named", "matched, own images"))]
            classes = statistics.mean(row["new classes with a label"] for row in some)
            print(f"| {arm} | {number} | {' | '.join(cells)} | {classes:.1f} of {some[0]['new classes']} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/protogcd")
    parser.add_argument("--seeds", default="1-3", help="as 1-3")
    parser.add_argument("--manifest", help="path,label,truth; {seed} in its name becomes the seed")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--labels", type=int, default=20, help="in each round")
    parser.add_argument("--arms", type=lambda text: text.split(","), default=["queue", "random"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("label-queue"))
    parser.add_argument("more", nargs="*", help="of discover")
    options = parser.parse_args()
    options.out = options.out.resolve()
    first, last = map(int, (options.seeds.split("-") * 2)[:2])
    seeds = range(first, last + 1)
    # Seeds wait for their arms, so that they need threads of their own.
    with ThreadPoolExecutor(options.jobs) as arms, ThreadPoolExecutor(max(1, options.jobs // 2)) as tasks:
        rows = [row for found in tasks.map(lambda seed: solve(options, seed, arms), seeds) for row in found]
    (options.out / "rows.json").write_text(json.dumps(rows, indent=1))
    summarise(rows, options)


if __name__ == "__main__":
    main()
