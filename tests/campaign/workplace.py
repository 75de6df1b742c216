"""A small collection to work on, the program run under any circumstances, and what a folder holds afterwards."""
import array
import csv
import dataclasses
import hashlib
import io
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import struct
import subprocess
import time
import tomllib


@dataclasses.dataclass
class Ended:
    """How a process ended: its exit code (-signal if one ended it), and what it said."""

    code: int
    out: str
    err: str
    seconds: float
    timed_out: bool = False
    acted: bool = False  # whether it lived to see the last of the actions `at` it
    fired: list = dataclasses.field(default_factory=list)  # faults that were injected, as "CALL N PATH"


class Workplace:
    """A folder with drawn images, a tiny random backbone and finished runs in `material`, and room for one trial at a time."""

    def __init__(self, program, shim, folder):
        self.program, self.shim, self.folder = str(program), str(shim), pathlib.Path(folder)
        self.material, self.trial = self.folder / "material", self.folder / "trial"
        self.scratch = self.folder / "scratch"
        self.scratch.mkdir(parents=True, exist_ok=True)
        if not (self.material / "complete").exists():
            self.make_material()

    def make_material(self):
        shutil.rmtree(self.material, ignore_errors=True)
        self.material.mkdir()
        write_backbone(self.material / "tiny.safetensors")
        for words in (
            ["datasets", "make-demo", "--out", self.material / "demo", "--per-class", 6, "--size", 40],
            ["train", *TRAIN, "--k", 16, "--out", self.material / "run"],
            ["embed", "--images", self.material / "demo/outliers", *BACKBONE, "--out", self.material / "features.npy"],
        ):
            ended = self.run(words)
            if ended.code != 0:
                raise SystemExit(f"the campaign cannot make its material: {ended.err}")
        sweep = SWEEP.replace("{material}", str(self.material))
        (self.material / "sweep.toml").write_text(sweep)
        with open(self.material / "run/predictions.csv", newline="") as table:
            new = next(row["class"] for row in csv.DictReader(table) if row["is_new"] in ("1", "true"))
        (self.material / "corrections.csv").write_text(f"action,path,class,target\naccept,,{new},\nrename,,{new},barn owl\n")
        (self.material / "complete").touch()

    def words(self, words):
        """{material} and {trial} are the folders; for trial and material alike the paths are absolute."""
        places = {"{material}": str(self.material), "{trial}": str(self.trial)}
        filled = []
        for word in map(str, words):
            for name, place in places.items():
                word = word.replace(name, place)
            filled.append(word)
        return filled

    def start(self, words, *, fault=None, log=None, clock=None, limit=None, before=None, shim=False, output=None, errors=None):
        environment = dict(os.environ, OMP_WAIT_POLICY="passive")
        if fault or log or clock or shim:
            environment |= {"LD_PRELOAD": self.shim, "CAMPAIGN_UNDER": str(self.folder)}
            environment["CAMPAIGN_FIRED"] = str(self.scratch / "fired")
            if fault:
                environment["CAMPAIGN_FAULT"] = fault
            if log:
                environment["CAMPAIGN_LOG"] = str(log)
            if clock:
                environment["CAMPAIGN_CLOCK"] = clock
        return subprocess.Popen(
            [self.program, *self.words(words)], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=output or subprocess.DEVNULL, stderr=errors or subprocess.DEVNULL, start_new_session=True,
            preexec_fn=(lambda: resource.setrlimit(*limit)) if limit else before)

    def run(self, words, *, timeout=180, at=None, **circumstances):
        """Runs to the end. `at`: (seconds, action of the process) pairs in their order, such as sending it a signal."""
        fired = self.scratch / "fired"
        fired.unlink(missing_ok=True)
        begun = time.monotonic()
        with open(self.scratch / "out", "w+b") as out, open(self.scratch / "err", "w+b") as err:
            process = self.start(words, output=circumstances.pop("output", out), errors=err, **circumstances)
            timed_out = acted = False
            try:
                for seconds, action in at or []:
                    try:
                        process.wait(max(0, begun + seconds - time.monotonic()))
                        acted = False
                        break
                    except subprocess.TimeoutExpired:
                        action(process)
                        acted = True
                process.wait(timeout)
            except subprocess.TimeoutExpired:
                timed_out = True
                kill_group(process)
                process.wait()
            kill_group(process)  # children that outlive it
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode(errors="replace"))
        said = fired.read_text().splitlines() if fired.exists() else []
        return Ended(process.returncode, *texts, time.monotonic() - begun, timed_out, acted, said)

    def fresh_trial(self, prepared=None):
        shutil.rmtree(self.trial, ignore_errors=True)
        if prepared:
            shutil.copytree(prepared, self.trial, symlinks=True)
        else:
            self.trial.mkdir()


def kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


BACKBONE = ["--backbone", "{material}/tiny.safetensors", "--heads", 1, "--image-size", 32, "--threads", 1, "--dtype", "float32", "--device", "cpu"]
DATA = ["--labelled", "{material}/demo/labelled", "--unlabelled", "{material}/demo/unlabelled", "--truth", "{material}/demo/truth.csv"]
TRAIN = [*DATA, *BACKBONE, "--epochs", 3, "--batch-size", 16, "--head-hidden", 32, "--projection", 16, "--eval-every", 2]


def with_epochs(words, epochs):
    """The same command with another length: no option may be given twice."""
    at = words.index("--epochs") + 1
    return [*words[:at], epochs, *words[at + 1:]]


SWEEP = """
[options]
labelled = "{material}/demo/labelled"
unlabelled = "{material}/demo/unlabelled"
truth = "{material}/demo/truth.csv"
k = 16
backbone = "{material}/tiny.safetensors"
heads = 1
image_size = 32
epochs = 3
batch_size = 16
head_hidden = 32
projection = 16
dtype = "float32"
device = "cpu"
[[axis]]
option = "lambda_sep"
values = [0.0, 0.1]
[[then]]
verb = "evaluate"
[[column]]
name = "All"
pointer = "/all"
"""


def write_backbone(path):
    """A ViT of three blocks for pictures of 32 pixels, with random weights."""
    width, hidden, patch, grid, draw = 64, 96, 8, 4, random.Random(1)
    shapes = {"cls_token": [1, 1, width], "pos_embed": [1, grid * grid + 1, width],
              "patch_embed.proj.weight": [width, 3, patch, patch], "patch_embed.proj.bias": [width]}
    for block in range(3):
        for name, shape in {"norm1.weight": [width], "norm1.bias": [width], "attn.qkv.weight": [3 * width, width],
                            "attn.qkv.bias": [3 * width], "attn.proj.weight": [width, width], "attn.proj.bias": [width],
                            "norm2.weight": [width], "norm2.bias": [width], "mlp.fc1.weight": [hidden, width],
                            "mlp.fc1.bias": [hidden], "mlp.fc2.weight": [width, hidden], "mlp.fc2.bias": [width]}.items():
            shapes[f"blocks.{block}.{name}"] = shape
    shapes |= {"norm.weight": [width], "norm.bias": [width]}
    header, body = {}, b""
    for name, shape in shapes.items():
        count = 1
        for size in shape:
            count *= size
        middle = 1 if "norm" in name and name.endswith("weight") else 0
        values = array.array("f", (middle + draw.gauss(0, 0.1) for _ in range(count))).tobytes()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + len(values)]}
        body += values
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


# What is there afterwards.

# Times, and what the machine had to spare, are of the process and not of its result.
OF_THE_PROCESS = {"seconds", "time", "started", "finished", "peak_memory", "waited", "images_per_second", "when", "begun", "ended",
                  "steps_per_second", "told_seconds"}


def without(value, names):
    if isinstance(value, dict):
        return {k: without(v, names) for k, v in value.items() if k not in names}
    if isinstance(value, list):
        return [without(v, names) for v in value]
    return value


def is_of_the_process(path):
    """Logs, locks and TensorBoard's files (one for each process) tell how something was done; pages tell times."""
    return path.name == ".lock" or ".tfevents." in path.name or path.suffix in (".log", ".html")


def hidden(path, folder):
    return any(part.startswith(".") for part in path.relative_to(folder).parts)


def files_of(folder):
    return sorted(p for p in folder.rglob("*") if p.is_symlink() or p.is_file())


def of_the_result(path, data):
    """The bytes, less what is of the process; all of them where half a file is there, which `broken_files` tells."""
    try:
        return of_a_whole(path, data)
    except (ValueError, struct.error, KeyError):
        return data


def of_a_whole(path, data):
    if path.suffix == ".json":
        return json.dumps(without(json.loads(data), OF_THE_PROCESS), sort_keys=True).encode()
    if path.suffix == ".jsonl":
        return json.dumps([without(json.loads(line), OF_THE_PROCESS) for line in data.splitlines()], sort_keys=True).encode()
    if path.suffix == ".csv":
        rows = list(csv.reader(io.StringIO(data.decode(errors="surrogateescape"))))
        kept = [i for i, name in enumerate(rows[0] if rows else []) if name not in OF_THE_PROCESS]
        return json.dumps([[row[i] for i in kept if i < len(row)] for row in rows]).encode()
    if path.suffix == ".safetensors" and path.parent.name == "checkpoints":
        length = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8:8 + length])
        header["__metadata__"] = without(header["__metadata__"], {"milliseconds", "crc32"})
        return json.dumps(header, sort_keys=True).encode() + data[8 + length:]
    return data


def snapshot(folder):
    """What a trial left, comparable with another: a digest for each file."""
    found = {}
    for path in files_of(folder):
        if is_of_the_process(path):
            if path.suffix == ".html":
                found[str(path.relative_to(folder))] = "a page"
            continue
        if path.name == "previous.safetensors":  # whether and which depends on where it was stopped
            continue
        data = os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
        found[str(path.relative_to(folder))] = hashlib.sha256(of_the_result(path, data)).hexdigest()[:16]
    return found


def differences(wanted, found_there):
    """In words, at most a few."""
    names = sorted(wanted.keys() | found_there.keys())
    found = [f"{name} is {'left over' if name not in wanted else 'missing' if name not in found_there else 'another'}"
             for name in names if wanted.get(name) != found_there.get(name)]
    return found[:6]


def broken_files(folder):
    """Files under their real names that are not whole. Hidden ones are unfinished work."""
    found = []
    for path in files_of(folder):
        if hidden(path, folder) or path.is_symlink():
            continue
        try:
            check_whole(path)
        except Exception as error:  # whatever a reader says of it
            found.append(f"{path.relative_to(folder)}: {type(error).__name__} {error}")
    return found


def check_whole(path):
    data = path.read_bytes()
    kind = path.suffix
    if kind == ".json":
        json.loads(data)
    elif kind == ".jsonl":
        for line in data.splitlines():
            json.loads(line)
    elif kind == ".toml":
        tomllib.loads(data.decode())
    elif kind == ".csv":
        rows = list(csv.reader(io.StringIO(data.decode())))
        if not data.endswith(b"\n") or len({len(row) for row in rows}) > 1:
            raise ValueError("rows are cut off")
    elif kind == ".html":
        if not data.rstrip().endswith(b"</html>"):
            raise ValueError("no end")
    elif kind == ".safetensors":
        length = struct.unpack("<Q", data[:8])[0]
        end = max([v["data_offsets"][1] for k, v in json.loads(data[8:8 + length]).items() if k != "__metadata__"], default=0)
        if len(data) != 8 + length + end:
            raise ValueError(f"{len(data)} bytes of {8 + length + end}")
    elif kind == ".npy":
        header = data[10:10 + struct.unpack("<H", data[8:10])[0]].decode()
        description = eval(header, {"__builtins__": {}})  # numpy's own format is a Python literal
        size = int(description["descr"][2:])
        for length in description["shape"]:
            size *= length
        if len(data) != 10 + len(header) + size:
            raise ValueError("rows are missing")
    elif kind == ".png":
        if not data.endswith(b"IEND\xaeB`\x82"):
            raise ValueError("no end")
    elif kind in (".jpg", ".jpeg"):
        if not data.endswith(b"\xff\xd9"):
            raise ValueError("no end")
