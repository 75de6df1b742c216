#include "protogcd/cli/torch_trunk.h"

#include <fmt/core.h>

#include <algorithm>

#include "protogcd/core/error.h"
#include "protogcd/core/json.h"
#include "protogcd/core/text.h"

namespace protogcd::cli {
namespace {

/// The model as one would write it in PyTorch for speed. Prints the version of torch; then answers
/// each line "MODE BATCH" with the seconds of one run, or with "failed".
constexpr const char* kScript = R"(
import json, sys, time, warnings
warnings.filterwarnings("ignore")
import torch
from torch import nn
import torch.nn.functional as F

g = json.loads(sys.argv[1])
width, hidden, size, patch = g["width"], g["hidden"], g["size"], g["patch"]

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width, 1e-6), nn.LayerNorm(width, 1e-6)
        self.qkv, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.first = nn.Linear(width, 2 * hidden if g["gated"] else hidden)
        self.second = nn.Linear(hidden, width)
        scales = (nn.Parameter(torch.ones(width)) if g["layer_scale"] else None for _ in range(2))
        self.scale1, self.scale2 = scales
    def attend(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, g["heads"], -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v)
        return self.projection(mixed.transpose(1, 2).reshape(b, t, width))
    def expand(self, x):
        if not g["gated"]:
            return self.second(F.gelu(self.first(x)))
        a, b = self.first(x).chunk(2, -1)
        return self.second(F.silu(a) * b)
    def forward(self, x):
        y = self.attend(self.norm1(x))
        x = x + (y if self.scale1 is None else y * self.scale1)
        y = self.expand(self.norm2(x))
        return x + (y if self.scale2 is None else y * self.scale2)

class Trunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.first = nn.Parameter(torch.randn(1, 1 + g["registers"], width))
        self.positions = nn.Parameter(torch.randn(1, (size // patch) ** 2, width))
        self.blocks = nn.ModuleList(Block() for _ in range(g["depth"] - 1))
    def forward(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2) + self.positions
        x = torch.cat((self.first.expand(len(x), -1, -1), x), 1)
        for block in self.blocks:
            x = block(x)
        return F.layer_norm(x, (width,), eps=1e-6), x[:, 0].float()

torch.set_num_threads(g["threads"])
device, dtype = torch.device(g["device"]), getattr(torch, g["type"])
model = Trunk().to(device, dtype).eval()
compiled = torch.compile(model)
print(torch.__version__, flush=True)

def run(mode, images):
    with torch.inference_mode():
        (compiled if mode == "compile" else model)(images)
    if device.type == "cuda":
        torch.cuda.synchronize()

images = {}
for line in sys.stdin:
    mode, batch = line.split()
    try:
        if (mode, batch) not in images:
            images[mode, batch] = torch.randn(int(batch), 3, size, size, dtype=dtype, device=device)
            for _ in range(2):
                run(mode, images[mode, batch])
        start = time.perf_counter()
        run(mode, images[mode, batch])
        print(time.perf_counter() - start, flush=True)
    except Exception as error:
        print("%s: %s" % (line.strip(), error), file=sys.stderr)
        print("failed", flush=True)
)";

std::string geometry_of(const TorchTrunkSetting& setting) {
  const VitConfig& config = setting.config;
  return nlohmann::json{{"width", config.width},
                        {"hidden", config.hidden},
                        {"heads", config.heads},
                        {"depth", config.depth},
                        {"patch", config.patch},
                        {"registers", config.registers},
                        {"layer_scale", config.layer_scale},
                        {"gated", config.gated_mlp},
                        {"size", setting.image_size},
                        {"type", setting.type},
                        {"device", setting.device},
                        {"threads", setting.threads}}
      .dump();
}

}  // namespace

TorchTrunk::TorchTrunk(const TorchTrunkSetting& setting)
    : process_(setting.python, kScript, {geometry_of(setting)}, "torch"),
      version_(process_.read_line()) {}

std::optional<double> TorchTrunk::images_per_second(const TorchVariant& variant) {
  const std::string answer = process_.ask(variant.name());
  if (answer == "failed") return std::nullopt;
  const auto seconds = parse_real(answer);
  if (!seconds) throw UsageError(fmt::format("--python: unexpected output '{}'", answer));
  return static_cast<double>(variant.batch) / *seconds;
}

TorchVariant TorchTrunk::fastest(const std::vector<TorchVariant>& variants) {
  constexpr int kTrials = 2;
  std::vector<double> best(variants.size(), 0);
  for (int trial = 0; trial < kTrials; ++trial) {  // in turn: a busy machine slows all
    for (std::size_t i = 0; i < variants.size(); ++i)
      best[i] = std::max(best[i], images_per_second(variants[i]).value_or(0));
  }
  const auto fastest = std::ranges::max_element(best);
  if (*fastest == 0) throw UsageError("--python: PyTorch cannot run this model here");
  return variants[static_cast<std::size_t>(fastest - best.begin())];
}

}  // namespace protogcd::cli
