"""Hours of the same: memory, open files and threads of a process that predicts, and of one that trains, stay what they were."""
import json
import os
import pathlib
import re
import shutil
import statistics
import time

from trials import last_words
from workplace import BACKBONE, DATA, kill_group


def state_of(pid):
    status = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
    # Its own: pages of files that it has mapped are the system's, which takes them back.
    return {"memory": int(status["RssAnon"].split()[0]) / 1024, "threads": int(status["Threads"]), "files": len(os.listdir(f"/proc/{pid}/fd"))}


def watch(place, words, until, rate_of):
    """Looks at the process every second; a line a minute (or a tenth of a short sitting)."""
    with open(place.scratch / "endurance.err", "wb") as errors:
        process = place.start(words, errors=errors)
        begun, samples = time.monotonic(), []
        while process.poll() is None and time.monotonic() < until:
            time.sleep(1)
            try:
                samples.append({"seconds": time.monotonic() - begun, "done": rate_of(), **state_of(process.pid)})
            except (OSError, KeyError):
                break
        code = process.poll()
        kill_group(process)
        process.wait()
    return code, samples


def minutes(samples):
    """A row for each minute: how much was done, the middle of its memory, and the fewest threads and files: a checkpoint that is being
    written has a file open, what is never closed stays."""
    length = 60 if samples and samples[-1]["seconds"] > 480 else max(3, samples[-1]["seconds"] / 8) if samples else 60
    rows, start = [], 0.0
    while samples and start < samples[-1]["seconds"]:
        part = [s for s in samples if start <= s["seconds"] < start + length]
        if len(part) > 2:
            took = part[-1]["seconds"] - part[0]["seconds"]
            rows.append({"minute": start / 60, "rate": (part[-1]["done"] - part[0]["done"]) / took if took else 0,
                         "memory": statistics.median(s["memory"] for s in part),
                         **{name: min(s[name] for s in part) for name in ("threads", "files")}})
        start += length
    return rows


def grew(rows):
    """In words, where the end is above what was reached once everything had been used: after the first quarter of the work itself."""
    rows = rows[next((i for i, row in enumerate(rows) if row["rate"] > 0), 0):]
    if len(rows) < 6:
        return []
    early, late = rows[len(rows) // 4], rows[-1]
    wrong = [f"{name}: {early[name]:.0f} after a quarter, {late[name]:.0f} in the end" for name in ("threads", "files") if late[name] > early[name]]
    if late["memory"] > early["memory"] * 1.03 + 8:
        wrong.append(f"memory: {early['memory']:.0f} MiB after a quarter, {late['memory']:.0f} MiB in the end")
    return wrong


def lines_of(path):
    try:
        with open(path, "rb") as file:
            return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 16), b""))
    except OSError:
        return 0


def predicted(log):
    """How many images the last line of its progress tells of: "predict 11% (446,256/3,999,960 images) ..." """
    told = re.findall(r"predict .*\(([0-9,]+)/", log.read_text(errors="replace"))
    return int(told[-1].replace(",", "")) if told else 0


def predictions(place, until):
    """One process that predicts a list of drawn images, many times over."""
    images = sorted((place.material / "demo").rglob("*.png"))
    listing = place.scratch / "many.txt"
    with open(listing, "w") as file:
        for _ in range(4_000_000 // len(images)):
            file.writelines(f"{image}\n" for image in images)
    words = ["predict", "--model", "{material}/run", "--images", listing, "--threads", 1, "--out", "{trial}/predictions.csv"]
    return watch(place, words, until, lambda: predicted(place.scratch / "endurance.err"))


def training(place, until):
    words = ["train", *DATA, *BACKBONE, "--k", 16, "--epochs", 100_000, "--batch-size", 16, "--head-hidden", 32, "--projection", 16,
             "--eval-every", 50, "--checkpoint-seconds", 2, "--report=false", "--views", "bank", "--bank-views", 2, "--out", "{trial}/run"]
    return watch(place, words, until, lambda: lines_of(place.trial / "run/metrics.jsonl"))


def keep(book, file, run):
    with book.lock:
        kept = json.loads(file.read_text()) if file.exists() else []
        file.write_text(json.dumps([*kept, run]))


def part(place, references, book, until, seed):
    work = {"predict": predictions, "train": training}
    for i, (name, run) in enumerate(work.items()):
        now = time.monotonic()
        place.fresh_trial()
        code, samples = run(place, now + (until - now) / (len(work) - i))
        rows = minutes(samples)
        wrong = grew(rows)
        if code not in (None, 0):
            wrong.append(f"exit code {code}: {last_words((place.scratch / 'endurance.err').read_text(errors='replace'))}")
        book.counts[f"endurance | seconds of {name}"] += int(samples[-1]["seconds"]) if samples else 0
        keep(book, place.folder.parent / "endurance.json", {"what": name, "rows": rows})
        if wrong:
            book.finding("endurance", f"{name}: {'; '.join(wrong)}", rows=rows)
    shutil.rmtree(place.trial, ignore_errors=True)
