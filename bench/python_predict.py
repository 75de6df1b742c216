#!/usr/bin/env python3
"""How fast `Model.predict` is beside the program's `predict`: images a second, on an idle machine or beside a busy core.

    bench/python_predict.py --program build/release/bin/protogcd --run RUN --images FOLDER [--torch-first] [--busy] [--repeats 5]

The module must be installed in the interpreter. Both tell the time of predicting alone, the model loaded and the first call done.
"""
import argparse
import json
import multiprocessing
import statistics
import subprocess
import tempfile
import time


def spin():
    while True:
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--run", required=True)
    parser.add_argument("--images", required=True)
    parser.add_argument("--torch-first", action="store_true", help="import torch before protogcd")
    parser.add_argument("--busy", action="store_true", help="beside a process that keeps a core busy")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    busy = multiprocessing.get_context("spawn").Process(target=spin, daemon=True)
    if options.torch_first:
        import torch  # noqa: F401
    import protogcd
    model = protogcd.Model.load(options.run)
    images = len(model.predict(options.images, progress=False))
    if options.busy:
        busy.start()
        time.sleep(1)

    def module():
        began = time.monotonic()
        model.predict(options.images, progress=False)
        return images / (time.monotonic() - began)

    def program():
        with tempfile.TemporaryDirectory() as folder:
            found = json.loads(subprocess.run([options.program, "predict", "--model", options.run, "--images", options.images, "--out",
                                               folder + "/p.csv", "--json", "--log-level", "error"], capture_output=True, check=True).stdout)
        return found["images"] / found["seconds"]

    rates = [(program(), module()) for _ in range(options.repeats)]  # in turns, so that both meet the same noise
    for name, values in zip(("program", "module"), zip(*rates)):
        print(f"{name}: {statistics.median(values):.0f} images/s, {min(values):.0f} to {max(values):.0f} ({options.repeats} times)")
    print(f"module / program: {statistics.median(b / a for a, b in rates):.3f}")


if __name__ == "__main__":
    main()
