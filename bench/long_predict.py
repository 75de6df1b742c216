#!/usr/bin/env python3
"""One `protogcd predict --shard` of millions of images for an hour: is its memory flat, and does it slow down (docs/scaling.md)?

Drawn images, packed into tar files, are linked as often as it takes. Beside it runs a loop that always does the same, which tells
how fast the machine itself was in each of those minutes.

    bench/long_predict.py --program build/release/bin/protogcd --minutes 60
"""
import argparse
import io
import json
import multiprocessing
import pathlib
import statistics
import subprocess
import sys
import tarfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/campaign"))
import endurance

IN_A_TAR = 1000


def make_collection(program, folder, per_class, images):
    """A model of the drawn demo, and links to tar files of other drawn images."""
    if not (folder / "model/result.json").exists():
        demo = [program, "datasets", "make-demo"]
        subprocess.run([*demo, "--out", folder / "small", "--per-class", "60", "--overwrite"], check=True)
        subprocess.run([program, "discover", "--quick", "--labelled", folder / "small/labelled", "--unlabelled", folder / "small/unlabelled",
                        "--k", "16", "--report=false", "--out", folder / "model", "--overwrite"], check=True)
        subprocess.run([*demo, "--out", folder / "demo", "--per-class", str(per_class), "--seed", "1", "--overwrite"], check=True)
    drawn = sorted((folder / "demo").rglob("*.png"))
    tars = folder / "tars"
    tars.mkdir(exist_ok=True)
    parts = -(-len(drawn) // IN_A_TAR)
    for part in range(parts):
        name = tars / f"{part:03d}.tar"
        if name.exists():
            continue
        with tarfile.open(name, "w", format=tarfile.USTAR_FORMAT) as tar:
            for i, image in enumerate(drawn[part::parts]):
                member = tarfile.TarInfo(f"{part:03d}-{i:05d}.png")
                member.size = image.stat().st_size
                tar.addfile(member, io.BytesIO(image.read_bytes()))
    links = folder / f"links-{images}"
    links.mkdir(exist_ok=True)
    for round_ in range(-(-images // len(drawn))):
        for tar in sorted(tars.iterdir()):
            link = links / f"{round_:04d}-{tar.name}"
            if not link.is_symlink():
                link.symlink_to(tar)
    return links


def same_again(rounds, seconds):
    """The fixed loop, for half a second of every five."""
    while True:
        begun = time.monotonic()
        while time.monotonic() < begun + 0.5:
            sum(i * i for i in range(100_000))
            rounds.value += 1
        seconds.value += time.monotonic() - begun
        time.sleep(4.5)


class Place:
    """What endurance.watch asks of a workplace."""

    def __init__(self, program, folder):
        self.program, self.scratch = program, folder

    def start(self, words, errors):
        return subprocess.Popen([self.program, *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
                                start_new_session=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=pathlib.Path("build/release/bin/protogcd"))
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/long_predict"))
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--images", type=int, default=10_000_000, help="of the whole collection")
    parser.add_argument("--per-class", type=int, default=1000, help="drawn images of each of 20 classes")
    parser.add_argument("--shard", default="1/10")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    program, folder = options.program.resolve(), options.folder.resolve()
    links = make_collection(program, folder, options.per_class, options.images)
    rounds, seconds = multiprocessing.Value("q", 0), multiprocessing.Value("d", 0)
    loop = multiprocessing.Process(target=same_again, args=(rounds, seconds), daemon=True)
    loop.start()
    begun, looped = time.monotonic(), []

    def done():
        looped.append((time.monotonic() - begun, rounds.value, seconds.value))
        return endurance.predicted(folder / "endurance.err")

    words = ["predict", "--model", folder / "model", "--images", links, "--threads", 1, "--shard", options.shard, "--overwrite",
             "--out", folder / "predictions.csv"]
    code, samples = endurance.watch(Place(program, folder), words, begun + 60 * options.minutes, done)
    loop.kill()
    rows = endurance.minutes(samples)
    for row, until in zip(rows, [row["minute"] for row in rows[1:]] + [options.minutes]):
        part = [look for look in looped if row["minute"] <= look[0] / 60 < until]
        row["loop"] = (part[-1][1] - part[0][1]) / (part[-1][2] - part[0][2])
    (folder / "minutes.json").write_text(json.dumps(rows, indent=1))
    end = "stopped" if code is None else f"exit code {code}"
    print(f"{samples[-1]['done']:,} images in {samples[-1]['seconds'] / 60:.1f} minutes, {end}")
    print("minute  images/s  loops/s  images/loop  MiB  threads  files")
    for row in rows:
        print(f"{row['minute']:6.0f}  {row['rate']:8.0f}  {row['loop']:7.1f}  {row['rate'] / row['loop']:11.1f}  {row['memory']:3.0f}"
              f"  {row['threads']:7.0f}  {row['files']:5.0f}")
    rows = [row for row in rows if row["rate"] > 0][1:-1]  # whole minutes of predicting
    part = max(1, min(10, len(rows) // 2))
    means = [statistics.mean(row["rate"] / row["loop"] for row in some) for some in (rows[:part], rows[-part:])]
    print(f"images a loop, the last {part} whole minutes to the first: {means[1] / means[0]:.3f}")


if __name__ == "__main__":
    main()
