#!/usr/bin/env python3
"""The published ProtoGCD training loop in plain, eager PyTorch, beside `protogcd train --as-published` on the same images.

Written from the paper and the known facts of its release: fresh crops by Pillow in worker processes, a batch drawn with replacement,
half of it labelled, float32 with TF32 products on CUDA, the last block trained, the last epoch told. Needs torch, numpy, Pillow, scipy.

    bench/published_loop.py --program build/release/bin/protogcd --manifest TASK.csv --classes 200 --epochs 30 --seeds 0,1,2 \\
        --backbone FILE --mean 0.5 --std 0.5 [--dtypes tf32,bfloat16] [--results results.jsonl]

Each run is a process of its own, whose wall time and peak host memory (of its largest process; a GPU's memory is not told) are told of
both sides alike. A finished run is a line of --results with all that it was asked for, and is not run again. Prints All/Old/New,
seconds and memory of each, and means.
"""
import argparse
import csv
import json
import math
import os
import pathlib
import shlex
import statistics
import struct
import subprocess
import sys
import tempfile
import time

TYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}


def read_weights(file):
    """safetensors: a header of names, types and places, then bytes."""
    import torch
    data = bytearray(pathlib.Path(file).read_bytes())
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    notes = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        values = torch.frombuffer(bytearray(data[begin:end]), dtype=getattr(torch, TYPES[entry["dtype"]]))
        tensors[name] = values.reshape(entry["shape"]).float()
    return tensors, notes


def make_model(weights, heads, classes):
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Block(nn.Module):
        def __init__(self, width, hidden):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width, eps=1e-6), nn.LayerNorm(width, eps=1e-6)
            self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.fc1, self.fc2 = nn.Linear(width, hidden), nn.Linear(hidden, width)

        def forward(self, x):  # [B, T, D]
            batch, tokens, width = x.shape
            q, k, v = self.qkv(self.norm1(x)).view(batch, tokens, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
            shares = ((q @ k.transpose(-2, -1)) * (width // heads) ** -0.5).softmax(-1)
            x = x + self.proj((shares @ v).transpose(1, 2).reshape(batch, tokens, width))
            return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            width = weights["cls_token"].shape[-1]
            depth = 1 + max(int(name.split(".")[1]) for name in weights if name.startswith("blocks."))
            patch = weights["patch_embed.proj.weight"].shape[-1]
            self.patches = nn.Conv2d(3, width, patch, patch)
            self.cls_token, self.pos_embed = (nn.Parameter(weights[n].clone()) for n in ("cls_token", "pos_embed"))
            self.blocks = nn.ModuleList(Block(width, weights["blocks.0.mlp.fc1.weight"].shape[0]) for _ in range(depth))
            self.norm = nn.LayerNorm(width, eps=1e-6)
            state = {"patches." + part: weights["patch_embed.proj." + part] for part in ("weight", "bias")}
            for name, value in weights.items():
                if name.startswith(("blocks.", "norm.")):
                    state[name.replace("attn.", "").replace("mlp.", "")] = value
            missing = self.load_state_dict(state, strict=False).missing_keys
            assert set(missing) <= {"cls_token", "pos_embed"}, missing
            for name, value in self.named_parameters():
                value.requires_grad_(name.startswith(f"blocks.{depth - 1}."))
            self.project = nn.Sequential(nn.Linear(width, 2048), nn.GELU(), nn.Linear(2048, 2048), nn.GELU(),
                                         nn.Linear(2048, 256))
            for layer in self.project:
                if isinstance(layer, nn.Linear):
                    nn.init.trunc_normal_(layer.weight, std=0.02)
                    nn.init.zeros_(layer.bias)
            self.prototypes = nn.Parameter(torch.empty(classes, width).uniform_(-width ** -0.5, width ** -0.5))

        def forward(self, pixels):
            x = self.patches(pixels).flatten(2).transpose(1, 2)
            x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], 1) + self.pos_embed
            for block in self.blocks:
                x = block(x)
            feature = self.norm(x)[:, 0]
            unit = F.normalize(self.prototypes, dim=1)
            return self.project(feature), F.normalize(feature, dim=1) @ unit.t(), unit

    return Model()


def objective(projections, cosines, prototypes, labels, labelled, hard_ratio, entropy_weight):
    """The release's loss: 0.65 (distill + entropy + separation + contrast) + 0.35 (supervised + supervised contrast)."""
    import torch
    from torch.nn import functional as F
    images, classes = len(labels), len(prototypes)
    log_p = F.log_softmax(cosines / 0.1, 1)
    taught = []
    for view in F.softmax(cosines.detach() / 0.05, 1).chunk(2):
        top = view.topk(2, 1).values
        chosen = (top[:, 0] / (top[:, 1] + 1e-6)).topk(int(images * hard_ratio)).indices
        view = view.clone()
        view[chosen] = F.one_hot(view[chosen].argmax(1), classes).to(view.dtype)
        taught.append(view)
    distilled = -(torch.cat([taught[1], taught[0]]) * log_p).sum(1).mean()
    marginal = log_p.exp().mean(0)
    entropy = (marginal * marginal.log()).sum() + math.log(classes)
    apart = (prototypes @ prototypes.t() / 0.1).fill_diagonal_(float("-inf"))
    separation = (torch.logsumexp(apart, 1) - math.log(classes - 1)).mean()

    unit = F.normalize(projections, dim=1)
    scores = (unit @ unit.t()).fill_diagonal_(float("-inf"))
    contrast = F.cross_entropy(scores, (torch.arange(2 * images, device=labels.device) + images) % (2 * images))
    both, targets = labelled.repeat(2), labels[labelled].repeat(2)
    supervised = F.nll_loss(log_p[both], targets)
    chosen = unit[both]
    log_share = F.log_softmax((chosen @ chosen.t() / 0.07).fill_diagonal_(-1e9), 1)
    same = (targets[:, None] == targets[None]).float().fill_diagonal_(0)
    alike = -((same * log_share).sum(1) / same.sum(1)).mean()
    return 0.65 * (distilled + entropy_weight * entropy + 0.1 * separation + contrast) + 0.35 * (supervised + alike)


class Views:
    """Two random crops of an image for training, or its centre; short side to size / 0.875 first."""

    def __init__(self, paths, size, mean, std, training):
        self.paths, self.size, self.training = paths, size, training
        self.mean, self.std = mean, std

    def __len__(self):
        return len(self.paths)

    def pixels(self, image, left, top):
        import numpy
        import torch
        part = numpy.asarray(image.crop((left, top, left + self.size, top + self.size)), dtype=numpy.float32) / 255
        return torch.from_numpy(((part - self.mean) / self.std).transpose(2, 0, 1).copy())

    def __getitem__(self, index):
        from PIL import Image
        import torch
        image = Image.open(self.paths[index]).convert("RGB")
        short, scaled = min(image.size), int(self.size / 0.875)
        if short != scaled:
            image = image.resize([int(scaled * side / short) for side in image.size], Image.BICUBIC)
        room = [side - self.size for side in image.size]
        if not self.training:
            return self.pixels(image, *(round(r / 2) for r in room))
        views = []
        for _ in range(2):
            top, left = (int(torch.randint(0, r + 1, ())) for r in reversed(room))
            view = self.pixels(image, left, top)
            views.append(view.flip(2) if torch.rand(()) < 0.5 else view)
        return index, views[0], views[1]


def accuracies(predicted, truth, old):
    from scipy.optimize import linear_sum_assignment
    import numpy
    size = max(predicted.max(), truth.max()) + 1
    counts = numpy.zeros((size, size), dtype=int)
    numpy.add.at(counts, (predicted, truth), 1)
    rows, columns = linear_sum_assignment(-counts)
    right = dict(zip(columns, counts[rows, columns]))

    def share(classes):
        total = sum((truth == c).sum() for c in classes)
        return 100 * sum(right[c] for c in classes) / max(total, 1)

    everything = range(size)
    return [share(everything), share([c for c in everything if c < old]), share([c for c in everything if c >= old])]


def read_manifest(file):
    """Training images, labelled ones first; the class of each, old ones numbered first; the number of old classes."""
    with open(file, newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row.get("split") != "test"]
    rows.sort(key=lambda row: row["label"] == "")
    of_row = [row["label"] or row.get("truth") for row in rows]  # a labelled image needs no truth
    if not all(of_row):
        raise SystemExit(f"{file}: an image has neither label nor truth")
    old = sorted({row["label"] for row in rows if row["label"]})
    names = old + sorted(set(of_row) - set(old))
    return rows, [names.index(name) for name in of_row], len(old)


def train_plain(o, dtype, seed):
    import numpy
    import torch
    torch.manual_seed(seed)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = dtype == "tf32"
    torch.set_num_threads(o.threads)
    rows, classes, old = read_manifest(o.manifest)
    paths = [pathlib.Path(o.manifest).parent / row["path"] for row in rows]
    truth = torch.tensor(classes)
    is_labelled = torch.tensor([row["label"] != "" for row in rows])
    count = int(is_labelled.sum())

    weights, notes = read_weights(o.backbone)
    heads = o.heads or int(notes.get("protogcd.heads", 0)) or weights["cls_token"].shape[-1] // 64
    model = make_model(weights, heads, o.classes).to(o.device)
    trained = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    plain = [p for n, p in trained if n.endswith(".bias") or p.ndim == 1]
    decayed = [p for n, p in trained if not (n.endswith(".bias") or p.ndim == 1)]
    optimiser = torch.optim.SGD([{"params": decayed, "weight_decay": 5e-5}, {"params": plain, "weight_decay": 0}],
                                lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, o.epochs, eta_min=1e-4)
    mean, std = (numpy.array([float(x) for x in text.split(",")], dtype=numpy.float32) for text in (o.mean, o.std))
    chances = [1 if i < count else count / (len(rows) - count) for i in range(len(rows))]
    drawn = torch.utils.data.WeightedRandomSampler(chances, len(rows))
    loader = torch.utils.data.DataLoader(Views(paths, o.size, mean, std, True), 128, sampler=drawn, drop_last=True,
                                         num_workers=o.workers, pin_memory=o.device != "cpu")
    ramp = max(o.epochs // 2, 1)
    autocast = torch.autocast(o.device.split(":")[0], torch.bfloat16, enabled=dtype == "bfloat16")

    def evaluate():
        centre = torch.utils.data.DataLoader(Views(paths[count:], o.size, mean, std, False), 256, num_workers=o.workers)
        with torch.no_grad(), autocast:
            found = torch.cat([model(pixels.to(o.device))[1].argmax(1).cpu() for pixels in centre])
        return accuracies(found.numpy(), truth[count:].numpy(), old)

    result = None
    for epoch in range(o.epochs):
        ratio = 1 if epoch >= ramp - 1 else epoch / (ramp - 1)
        for index, first, second in loader:
            pixels = torch.cat([first, second]).to(o.device, non_blocking=True)
            with autocast:
                projections, cosines, prototypes = model(pixels)
            loss = objective(projections.float(), cosines.float(), prototypes, truth[index].to(o.device),
                             is_labelled[index].to(o.device), ratio, o.lambda_entropy)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        schedule.step()
        if (epoch + 1) % o.eval_every == 0 or epoch + 1 == o.epochs:
            result = evaluate()
            print(f"epoch {epoch + 1}: {loss.item():.3f}, {'/'.join(f'{x:.1f}' for x in result)}", file=sys.stderr, flush=True)
    return dict(zip(("all", "old", "new"), result))


def run(words):
    """What a process answers as JSON, with its wall time and peak host memory."""
    start = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(list(map(str, words)), stdout=output)
        _, status, used = os.wait4(process.pid, 0)  # this process's own, whatever others there were
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - start
        if process.returncode:
            raise SystemExit(f"{words[0]}: exit code {process.returncode}")
        output.seek(0)
        answer = json.loads(output.read())
    return {**{key: answer[key] for key in ("all", "old", "new")}, "seconds": seconds, "memory": used.ru_maxrss * 1024}


def run_ours(o, dtype, seed):
    with tempfile.TemporaryDirectory() as folder:
        words = [o.program, "train", "--as-published", "--dtype", dtype, "--manifest", o.manifest, "--k", o.classes, "--backbone",
                 o.backbone, "--mean", o.mean, "--std", o.std, "--epochs", o.epochs, "--eval-every", o.eval_every, "--lambda-entropy",
                 o.lambda_entropy, "--seed", seed, "--device", o.device, "--threads", o.threads, "--report=false", "--json", "--out",
                 folder + "/run", *shlex.split(o.flags)]
        return run(words)


def run_plain(dtype, seed):
    return run([sys.executable, *sys.argv, "--alone", "--dtypes", dtype, "--seeds", seed])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/protogcd")
    parser.add_argument("--manifest", required=True, help="path,label,truth; paths relative to its folder")
    parser.add_argument("--backbone", required=True, help="safetensors with DINO's names")
    parser.add_argument("--classes", type=int, required=True)
    parser.add_argument("--heads", type=int, default=0)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--mean", default="0.485,0.456,0.406")
    parser.add_argument("--std", default="0.229,0.224,0.225")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--eval-every", type=int, default=1)
    parser.add_argument("--lambda-entropy", type=float, default=2)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--dtypes", default="tf32", help="of tf32, bfloat16, float32")
    parser.add_argument("--sides", default="ours,plain")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--flags", default="", help="further flags of the program")
    parser.add_argument("--results", default="published_loop.jsonl")
    parser.add_argument("--alone", action="store_true", help="one plain run in this process, told as JSON")
    o = parser.parse_args()
    if o.alone:
        print(json.dumps(train_plain(o, o.dtypes, int(o.seeds))))
        return
    file = pathlib.Path(o.results)
    done = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    of_all_runs = ("program", "seeds", "dtypes", "sides", "results", "alone")
    task = {key: value for key, value in vars(o).items() if key not in of_all_runs}
    for dtype in o.dtypes.split(","):
        for seed in map(int, o.seeds.split(",")):
            for side in o.sides.split(","):
                key = {**task, "side": side, "dtype": dtype, "seed": seed}
                if any(key.items() <= row.items() for row in done):
                    continue
                row = {**key, **(run_ours(o, dtype, seed) if side == "ours" else run_plain(dtype, seed))}
                done.append(row)
                with open(file, "a") as out:
                    out.write(json.dumps(row) + "\n")
    print(f"{'side':6} {'dtype':9} {'seed':>4}   All   Old   New  seconds    GiB")
    for dtype in o.dtypes.split(","):
        for side in o.sides.split(","):
            rows = [r for r in done if {**task, "side": side, "dtype": dtype}.items() <= r.items()]
            for r in rows:
                print(f"{side:6} {dtype:9} {r['seed']:4} {r['all']:5.1f} {r['old']:5.1f} {r['new']:5.1f} {r['seconds']:8.1f} "
                      f"{r['memory'] / 2**30:6.2f}")
            if len(rows) > 1:
                print(f"{side:6} {dtype:9} mean {statistics.mean(r['all'] for r in rows):5.1f} +- "
                      f"{statistics.stdev(r['all'] for r in rows):.1f} All")


if __name__ == "__main__":
    main()
