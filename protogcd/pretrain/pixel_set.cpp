#include "protogcd/pretrain/pixel_set.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <vector>

#include "protogcd/core/error.h"
#include "protogcd/core/sha256.h"
#include "protogcd/core/text.h"
#include "protogcd/core/thread_pool.h"
#include "protogcd/data/image_cache.h"
#include "protogcd/data/skipped.h"
#include "protogcd/engine/placement.h"

namespace protogcd {
namespace {

std::vector<Sample> with_known_class(const Dataset& dataset) {
  std::vector<Sample> samples;
  std::ranges::copy_if(dataset.samples, std::back_inserter(samples),
                       [](const Sample& sample) { return sample.truth != kNoClass; });
  return samples;
}

void check_room(std::uint64_t bytes, at::Device device) {
  const std::uint64_t room = free_memory(device);
  if (bytes < room) return;
  throw DeviceError(fmt::format("the decoded images take {}, and there are {} of memory",
                                human_bytes(bytes), human_bytes(room)),
                    fmt::format("choose a smaller {}, or fewer images", option_name("size")));
}

/// [height, width, 3] -> [3, height, width]
void put_planes(const Image& image, std::uint8_t* planes) {
  const std::size_t plane = std::size_t{1} * image.width * image.height;
  for (std::size_t i = 0; i < plane; ++i) {
    for (std::size_t channel = 0; channel < 3; ++channel)
      planes[channel * plane + i] = image.pixels[3 * i + channel];
  }
}

/// Every image into its row of `pixels` [N, 3, S, S]; which of them could be read.
std::vector<char> read_all(const Dataset& dataset, std::span<const Sample> samples,
                           const DecodeOptions& decode, at::Tensor& pixels, SkippedFiles& skipped,
                           const Context& context) {
  constexpr std::size_t kImagesPerTask = 32;  // they share a reader and its buffers
  const auto size = static_cast<int>(pixels.size(2));
  const std::size_t count = samples.size(), bytes = std::size_t{3} * size * size;
  std::vector<char> good(count, 0);
  Progress progress("read", count, "images", context.progress());
  ThreadPool pool(context.threads);
  pool.for_each((count + kImagesPerTask - 1) / kImagesPerTask, [&](std::size_t task) {
    if (context.interrupted()) {
      throw InterruptedError("stopped while reading images", "repeat the command to start again");
    }
    ResizedReader reader(dataset.sources, decode);
    Image image;
    const std::size_t end = std::min(count, (task + 1) * kImagesPerTask);
    for (std::size_t i = task * kImagesPerTask; i < end; ++i) {
      if (const auto bad = reader.read_center(samples[i].source, {size, size}, image)) {
        skipped.add(dataset.sources, samples[i].source, bad->reason);
      } else {
        put_planes(image, pixels.data_ptr<std::uint8_t>() + i * bytes);
        good[i] = 1;
      }
    }
    progress.add(end - task * kImagesPerTask);
  });
  return good;
}

}  // namespace

PixelSet load_pixels(const Dataset& dataset, std::int64_t size, const DecodeOptions& decode,
                     at::Device device, const BadImagePolicy& policy, const Context& context) {
  const std::vector<Sample> samples = with_known_class(dataset);
  const auto count = static_cast<std::int64_t>(samples.size());
  for (const at::Device home : {at::Device(at::kCPU), device})
    check_room(static_cast<std::uint64_t>(count * 3 * size * size), home);
  at::Tensor pixels = at::empty({count, 3, size, size}, at::kByte);
  SkippedFiles skipped(policy, samples.size());
  const std::vector<char> good = read_all(dataset, samples, decode, pixels, skipped, context);
  skipped.check(dataset.sources);
  if (const std::vector<SkippedFile> bad = skipped.files(); !bad.empty()) {
    context.log.warning(fmt::format("{} of {} images are left out, the first: {}: {}", bad.size(),
                                    samples.size(), dataset.sources.path(bad[0].source),
                                    bad[0].reason));
  }

  Sha256 digest;
  std::vector<std::int64_t> rows, labels;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (good[i] == 0) continue;
    rows.push_back(static_cast<std::int64_t>(i));
    labels.push_back(samples[i].truth);
    digest.update(
        fmt::format("{}\n{}\n", dataset.sources.path(samples[i].source), samples[i].truth));
  }
  if (rows.size() < samples.size()) pixels = pixels.index_select(0, at::tensor(rows, at::kLong));
  digest.update({reinterpret_cast<const char*>(pixels.const_data_ptr()),
                 static_cast<std::size_t>(pixels.numel())});
  return {.pixels = pixels.to(device),
          .labels = at::tensor(labels, at::kLong).to(device),
          .classes = static_cast<std::int64_t>(dataset.classes.size()),
          .skipped = skipped.count(),
          .digest = hexadecimal(digest.finish())};
}

}  // namespace protogcd
