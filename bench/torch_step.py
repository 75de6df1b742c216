"""One training step on cached trunk tokens in ordinary, eager PyTorch: what `protogcd bench train --python` compares with.

Tokens of a bank are gathered, pass the whole last block (every token), the final norm and the head, then the same objective and
SGD with momentum. Random weights and tokens: speed does not depend on them. Protocol: prints one line "ready VERSION"; then, for
each line with a number N on stdin, runs N steps and prints the milliseconds of one.
"""
import argparse
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width, eps=1e-6), nn.LayerNorm(width, eps=1e-6)
        self.qkv, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.inner, self.outer = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        parts = self.qkv(self.norm1(x)).view(batch, tokens, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(query, key, value)
        x = x + self.projection(mixed.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.outer(F.gelu(self.inner(self.norm2(x))))


class Model(nn.Module):
    def __init__(self, width, heads, hidden, classes):
        super().__init__()
        self.block, self.norm = Block(width, heads, hidden), nn.LayerNorm(width, eps=1e-6)
        self.norm.requires_grad_(False)
        self.project = nn.Sequential(
            nn.Linear(width, 2048), nn.GELU(), nn.Linear(2048, 2048), nn.GELU(), nn.Linear(2048, 256))
        self.prototypes = nn.Parameter(torch.randn(classes, width) * 0.02)

    def forward(self, tokens):
        feature = self.norm(self.block(tokens))[:, 0]
        unit = F.normalize(self.prototypes, dim=1)
        return self.project(feature), F.normalize(feature, dim=1) @ unit.t(), unit


def pseudo_labels(cosines, hard_count):
    soft = F.softmax(cosines.detach() / 0.05, 1)
    labels = []
    for view in soft.chunk(2):
        top = view.topk(2, 1).values
        chosen = (top[:, 0] / (top[:, 1] + 1e-6)).topk(hard_count).indices
        view = view.clone()
        view[chosen] = F.one_hot(view[chosen].argmax(1), view.shape[1]).to(view.dtype)
        labels.append(view)
    return labels


def objective(projections, cosines, prototypes, labels):
    images, classes = labels.shape[0], prototypes.shape[0]
    labelled = images // 2
    both = torch.cat([torch.arange(labelled), torch.arange(labelled) + images]).to(labels.device)
    targets = labels[:labelled].repeat(2)
    log_p = F.log_softmax(cosines / 0.1, 1)
    supervised = F.nll_loss(log_p[both], targets)
    one, other = pseudo_labels(cosines, images // 2)
    distilled = -(torch.cat([other, one]) * log_p).sum(1).mean()
    marginal = log_p.exp().mean(0)
    entropy = (marginal * marginal.log()).sum()
    apart = (prototypes @ prototypes.t() / 0.1).fill_diagonal_(float("-inf"))
    separation = torch.logsumexp(apart, 1).mean()

    unit = F.normalize(projections, dim=1)
    scores = (unit @ unit.t()).fill_diagonal_(float("-inf"))
    pair = (torch.arange(2 * images, device=labels.device) + images) % (2 * images)
    contrast = F.cross_entropy(scores, pair)
    chosen = unit[both]
    scores = (chosen @ chosen.t() / 0.07).fill_diagonal_(-1e9)
    log_share = F.log_softmax(scores, 1)
    same = (targets[:, None] == targets[None]).float().fill_diagonal_(0)
    alike = -((same * log_share).sum(1) / same.sum(1).clamp_min(1)).mean()
    return 0.65 * (distilled + 2 * entropy + 0.1 * separation + contrast) + 0.35 * (supervised + alike)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in [("width", 384), ("heads", 6), ("hidden", 1536), ("tokens", 197), ("batch", 128),
                          ("classes", 100), ("images", 1024), ("threads", 2)]:
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="bfloat16", help="of the cached tokens")
    o = parser.parse_args()
    torch.set_num_threads(o.threads)
    torch.manual_seed(0)
    model = Model(o.width, o.heads, o.hidden, o.classes).to(o.device)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.SGD(trained, lr=0.01, momentum=0.9, weight_decay=5e-5)
    bank = torch.empty(2 * o.images, o.tokens, o.width, dtype=getattr(torch, o.dtype), device=o.device).normal_()

    def step():
        image = torch.randint(0, o.images, (o.batch,), device=o.device)
        tokens = bank[torch.cat([image, image + o.images])].float()
        labels = torch.randint(0, max(o.classes // 2, 1), (o.batch,), device=o.device)
        loss = objective(*model(tokens), labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        return loss

    step().item()
    print("ready", torch.__version__, flush=True)
    for line in sys.stdin:
        count = int(line)
        start = time.perf_counter()
        for _ in range(count):
            loss = step()
        loss.item()
        print(1000 * (time.perf_counter() - start) / count, flush=True)


if __name__ == "__main__":
    main()
