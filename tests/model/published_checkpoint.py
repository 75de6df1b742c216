"""Writes checkpoints as the published ProtoGCD code saves them, of a tiny Vision Transformer in plain PyTorch, and what it
makes of some images: FOLDER/plain.pt, nested.pt, expected.pt, and faulty ones."""
import json
import sys

import torch
from torch import nn
from torch.nn import functional

WIDTH, HEADS, DEPTH, PATCH, SIZE, HIDDEN, CLASSES = 32, 2, 3, 8, 32, 64, 10


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.proj = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        count, tokens, _ = x.shape
        parts = self.qkv(x).reshape(count, tokens, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        weights = (parts[0] @ parts[1].transpose(-2, -1) * (WIDTH // HEADS) ** -0.5).softmax(-1)
        return self.proj((weights @ parts[2]).transpose(1, 2).reshape(count, tokens, WIDTH))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(WIDTH, HIDDEN)
        self.fc2 = nn.Linear(HIDDEN, WIDTH)

    def forward(self, x):
        return self.fc2(functional.gelu(self.fc1(x)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH, eps=1e-6)
        self.attn = Attention()
        self.norm2 = nn.LayerNorm(WIDTH, eps=1e-6)
        self.mlp = Mlp()

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class PatchEmbed(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Conv2d(3, WIDTH, PATCH, PATCH)


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.cls_token = nn.Parameter(torch.randn(1, 1, WIDTH))
        self.pos_embed = nn.Parameter(torch.randn(1, 1 + (SIZE // PATCH) ** 2, WIDTH))
        self.patch_embed = PatchEmbed()
        self.blocks = nn.ModuleList(Block() for _ in range(DEPTH))
        self.norm = nn.LayerNorm(WIDTH, eps=1e-6)

    def forward(self, images):
        patches = self.patch_embed.proj(images).flatten(2).transpose(1, 2)
        x = torch.cat((self.cls_token.expand(len(images), -1, -1), patches), 1) + self.pos_embed
        for block in self.blocks:
            x = block(x)
        return self.norm(x)[:, 0]


class PrototypeLayer(nn.Module):
    """The names that weight_norm gives a layer without bias."""

    def __init__(self):
        super().__init__()
        self.weight_g = nn.Parameter(torch.ones(CLASSES, 1))
        self.weight_v = nn.Parameter(torch.randn(CLASSES, WIDTH))

    def forward(self, x):
        return x @ (self.weight_g * functional.normalize(self.weight_v)).t()


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 48), nn.GELU(), nn.Linear(48, 48), nn.GELU(), nn.Linear(48, 16))
        self.prototype_layer = PrototypeLayer()

    def forward(self, x):
        return self.prototype_layer(functional.normalize(x, dim=-1))


torch.manual_seed(0)
folder = sys.argv[1]
model = nn.Sequential(Backbone(), Head())
for name, parameter in model.named_parameters():  # norms that do something
    if "norm" in name:
        parameter.data += 0.2 * torch.randn_like(parameter)
images = torch.randn(5, 3, SIZE, SIZE)
with torch.no_grad():
    features = model[0](images)
    torch.save({"images": images, "features": features, "logits": model[1](features)}, folder + "/expected.pt")
state = {name: value.clone() for name, value in model.state_dict().items()}
torch.save(state, folder + "/plain.pt")
# Published files also hold the optimiser after its steps: integer keys, and a tensor of momentum for each that is trained.
optimiser = torch.optim.SGD([{"params": list(model[0].parameters())}, {"params": list(model[1].parameters()), "weight_decay": 0}],
                            lr=0.1, momentum=0.9, weight_decay=5e-5)
model[1](model[0](images)).logsumexp(1).sum().backward()
optimiser.step()
torch.save({"model": state, "optimizer": optimiser.state_dict(), "epoch": 200}, folder + "/nested.pt")


def save_changed(name, **changes):
    changed = dict(state)
    for key, value in changes.items():
        key = key.replace("__", ".")
        key = next(k for k in state if k.endswith(key))
        if value is None:
            del changed[key]
        else:
            changed[key] = value
    torch.save(changed, folder + "/" + name + ".pt")


save_changed("no-norm", blocks__1__norm1__weight=None)
save_changed("no-mlp", mlp__2__bias=None)
save_changed("wrong-mlp", mlp__2__weight=torch.zeros(48, 47))
save_changed("wrong-width", prototype_layer__weight_v=torch.zeros(CLASSES, WIDTH + 1))
save_changed("long", prototype_layer__weight_g=torch.full((CLASSES, 1), 2.0))
save_changed("no-prototypes", prototype_layer__weight_v=None)
print(json.dumps(sorted(state)))
