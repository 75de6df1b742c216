"""Files of a run as somebody else may have made them: a checkpoint, a bank, a model, tables and results with other values, types,
sizes or bytes in them, with checksums that are right all the same. Each is refused by its name, or read; nothing crashes or hangs."""
import csv
import io
import json
import random
import re
import shutil
import signal
import struct
import time
import zlib

from scenarios import OFTEN
from trials import CODES, last_words
from workplace import DATA, TRAIN, with_epochs

RUN = "{trial}/run"
RESUME = ["train", "--out", RUN, "--resume"]
PREDICT = ["predict", "--model", RUN, "--images", "{material}/demo/outliers", "--threads", 1]
REPORT = ["report", RUN, "--threads", 1, "--export", "{trial}/export"]
# Which commands read a file of a run, by how its path begins.
READERS = {
    "model/": [PREDICT, ["evaluate", "--model", RUN, *DATA, "--threads", 1], ["weights", "export", "--model", RUN, "--out", "{trial}/w.safetensors"]],
    "checkpoints/": [RESUME],
    "bank/": [RESUME],
    "config.toml": [RESUME, ["report", RUN]],
    "images.csv": [RESUME],
    "run.json": [REPORT, RESUME],
    "metrics.jsonl": [REPORT, RESUME],
    "labels.csv": [["labels", RUN], RESUME],
    "": [REPORT, ["sort", RUN, "--out", "{trial}/sorted"], ["compare", RUN, "{material}/run"]],
}
VALUES = [None, True, -1, 0, 1, 2**31, 2**63, -2**63, 1e308, -0.0, 0.5, "", "0", "x" * 70000, "\0", "\ud800", "../../x", [], {}, [[]], [None] * 1000,
          {"a": {}}, "nan", "protogcd-checkpoint-3"]


def names_its_reason(said, path):
    """The error names the file, an option that stands in it, or a path that it holds."""
    error = said[said.rfind("error: "):]
    return path.name in said or str(path.parent) in said or "--" in error or re.match(r"error: '?/", error) is not None


def readers_of(name):
    return next(words for start, words in READERS.items() if name.startswith(start))


def changed_json(value, draw):
    """One value somewhere in it, or a key, is another."""
    places = []

    def walk(node):
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            if isinstance(node[key], (dict, list)):
                walk(node[key])

    if not isinstance(value, (dict, list)) or not value:
        return draw.choice(VALUES)
    walk(value)
    node, key = draw.choice(places)
    how = draw.random()
    if how < 0.2:
        del node[key]
    elif how < 0.3 and isinstance(node, dict):
        node[str(draw.choice(VALUES))] = node.pop(key)
    elif how < 0.4:
        node[key] = draw.choice(places)[0] if draw.random() < 0.1 else [node[key]]
    else:
        node[key] = draw.choice(VALUES)
    return value


def as_text(value):
    try:
        return json.dumps(value).encode(errors="surrogatepass")
    except (ValueError, RecursionError):  # it is within itself
        return b"{}"


def changed_table(data, draw):
    rows = list(csv.reader(io.StringIO(data.decode(errors="replace"))))
    if not rows:
        return b"\n"
    row = draw.choice(rows)
    how = draw.random()
    if how < 0.6 and row:
        row[draw.randrange(len(row))] = str(draw.choice(VALUES))
    elif how < 0.7 and row:
        del row[draw.randrange(len(row))]
    elif how < 0.8:
        rows.insert(draw.randrange(len(rows) + 1), list(row))
    elif how < 0.9:
        rows.remove(row)
    else:
        rows[0] = draw.sample(rows[0], len(rows[0]))
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue().encode(errors="replace")


def changed_tensors(data, draw):
    """The header's names, types, shapes, places or notes are others; a checksum of notes and tensors is made again."""
    length = struct.unpack("<Q", data[:8])[0]
    header, body = json.loads(data[8:8 + length]), bytearray(data[8 + length:])
    notes = header.get("__metadata__", {})
    names = [name for name in header if name != "__metadata__"]
    tensor = header[draw.choice(names)]
    how = draw.random()
    if how < 0.25 and notes:
        key = draw.choice(list(notes))
        notes[key] = draw.choice(["", "-1", "1e9", "{}", "[]", str(2**63), "x" * 5000, notes[draw.choice(list(notes))]])
    elif how < 0.45:
        tensor["shape"] = draw.choice([[], [0], [-1], [2**62, 2], tensor["shape"][::-1], [1] * 70, [*tensor["shape"], 1]])
    elif how < 0.6:
        tensor["dtype"] = draw.choice(["F64", "F16", "BF16", "I64", "U8", "BOOL", "F8", ""])
    elif how < 0.7:
        tensor["data_offsets"] = draw.choice([[0, 0], [5, 1], [0, 2**63], [-8, 0], [0, len(body)]])
    elif how < 0.8:
        del header[draw.choice(names)]
    else:  # values: not a number, infinite, anything
        begin, end = tensor["data_offsets"]
        fill = draw.choice([b"\x00\x00\xc0\x7f", b"\x00\x00\x80\x7f", b"\xff\xff\xff\xff", draw.randbytes(4)])
        body[begin:end] = (fill * ((end - begin) // 4 + 1))[:end - begin]
    if "crc32" in notes:
        notes["crc32"] = checksum(header, notes, body)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(body)


def checksum(header, notes, body):
    """As nn/state_file.cpp makes it."""
    total = 0
    for key in sorted(notes):
        if key != "crc32":
            total = zlib.crc32(notes[key].encode(), zlib.crc32(key.encode(), total))
    for name in sorted(name for name in header if name != "__metadata__"):
        begin, end = header[name]["data_offsets"]
        total = zlib.crc32(bytes(body[max(0, begin):max(0, end)]) if end < 2**40 else b"", zlib.crc32(name.encode(), total))
    return f"{total:08x}"


def changed_bytes(data, draw):
    data = bytearray(data)
    for _ in range(draw.choice([1, 1, 2, 8])):
        if not data:
            return draw.randbytes(64)
        at = draw.randrange(len(data))
        how = draw.random()
        if how < 0.4:
            data[at] = draw.randrange(256)
        elif how < 0.6:
            del data[at:]
        elif how < 0.8:
            data[at:at] = draw.choice([b"\0" * 9, draw.randbytes(20), bytes(data[:100]), b'"', b"\n", b"\xff\xfe", b"[" * 20000])
        else:
            del data[at:at + draw.randrange(1, 100)]
    return bytes(data)


def changed(path, data, draw):
    if draw.random() < 0.25 or not data:
        return changed_bytes(data, draw)
    if path.suffix == ".json":
        return as_text(changed_json(json.loads(data), draw))
    if path.suffix == ".jsonl":
        lines = data.splitlines()
        at = draw.randrange(len(lines))
        lines[at] = as_text(changed_json(json.loads(lines[at]), draw))
        return b"\n".join(lines) + b"\n"
    if path.suffix == ".csv":
        return changed_table(data, draw)
    if path.suffix == ".safetensors":
        return changed_tensors(data, draw)
    if path.suffix == ".journal":  # of a bank: a block and its checksum a line
        lines = data.decode().splitlines()
        at = draw.randrange(len(lines))
        lines[at] = draw.choice(["block -1 0", "block 99999999999 0", "block 0 zz", f"block {2**63} 00000000", "protogcd-bank 1 0", lines[at] * 2, ""])
        return ("\n".join(lines) + "\n").encode()
    return changed_bytes(data, draw)


def make_runs(place):
    """A finished run, and one that was killed with its bank on disk."""
    folder = place.material / "foreign"
    if (folder / "complete").exists():
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    place.fresh_trial()
    common = ["train", *TRAIN, *OFTEN, "--k", 16, "--views", "bank", "--bank-views", 2, "--bank-home", "file"]
    if place.run([*common, "--out", RUN]).code != 0:
        raise SystemExit("the campaign cannot make a run to change")
    shutil.copytree(place.trial / "run", folder / "finished")
    killed = place.run([*with_epochs(common, 8), "--report=false", "--out", RUN, "--overwrite"], fault="change:120:kill")
    if killed.code != -signal.SIGKILL or not (place.trial / "run/checkpoints").exists():
        raise SystemExit(f"the campaign cannot make an unfinished run to change: exit code {killed.code}: {killed.err}")
    shutil.copytree(place.trial / "run", folder / "unfinished")
    (folder / "complete").touch()
    return folder


def part(place, references, book, until, seed):
    draw = random.Random(seed)
    runs = make_runs(place)
    while time.monotonic() < until:
        kind = draw.choice(["finished", "unfinished"])
        place.fresh_trial()
        # Where the run was: its configuration names that folder, and a bank knows its images by it.
        shutil.copytree(runs / kind, place.trial / "run")
        files = sorted(p for p in (place.trial / "run").rglob("*") if p.is_file() and p.stat().st_size < 1 << 20
                       and p.suffix in (".json", ".jsonl", ".csv", ".safetensors", ".toml", ".journal", ".tokens"))
        path = min(files, key=lambda p: (book.counts[f"foreign files | {kind} | {p.relative_to(place.trial / 'run')}"], draw.random()))
        name = str(path.relative_to(place.trial / "run"))
        before = path.read_bytes()
        path.write_bytes(changed(path, before, draw))
        words = draw.choice(readers_of(name))
        ended = place.run(words, timeout=120)
        book.add("foreign files", kind, name)
        wrong = []
        if ended.timed_out:
            wrong.append("hangs")
        elif ended.code not in CODES:
            wrong.append(f"exit code {ended.code}: {last_words(ended.err)}")
        elif ended.code not in (0, 130) and not names_its_reason(ended.err, path):
            wrong.append(f"does not name it: {last_words(ended.err)}")
        if wrong:
            kept = place.folder.parent / "foreign" / f"{int(time.time() * 1000)}-{path.name}"
            kept.parent.mkdir(exist_ok=True)
            kept.write_bytes(path.read_bytes())
            book.finding("foreign files", f"{name} of a run that is {kind}, {' '.join(map(str, words[:2]))}: {'; '.join(wrong)}",
                         kept=str(kept), said=ended.err[-600:])
