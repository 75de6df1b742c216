#include "protogcd/engine/token_bank.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/sha256.h"
#include "protogcd/core/text.h"
#include "protogcd/engine/placement.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kViewsAtOnce = 8;  // an image is decoded once for so many views
constexpr double kLongSeconds = 3600;

/// What a bank may take of the memory that is free and that no bank beside it will take: the rest
/// is for evaluation tokens and images.
std::uint64_t room_on(at::Device device, const ProcessPlace& process, const BankPlan* beside) {
  const BankHome home = device.is_cuda() ? BankHome::kDevice : BankHome::kHost;
  const std::uint64_t free = free_memory(device, process),
                      taken =
                          beside != nullptr && beside->home == home ? beside->layout.bytes() : 0;
  return (free - std::min(free, taken)) / (device.is_cuda() ? 2 : 3);
}

std::optional<std::uint64_t> free_disk(fs::path folder) {
  std::error_code error;
  folder = fs::absolute(folder, error);
  while (!fs::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  const auto space = fs::space(folder, error);
  return error ? std::nullopt : std::optional<std::uint64_t>(space.available);
}

std::string home_in_words(const BankPlan& plan) {
  switch (plan.home) {
    case BankHome::kDevice:
      return plan.device.is_cuda() ? "in the GPU's memory" : "in memory";
    case BankHome::kFile:
      return fmt::format("in {}", plan.folder.string());
    default:
      return plan.device.is_cuda() ? "in pinned memory" : "in memory";
  }
}

}  // namespace

std::uint32_t BankPlan::generation(std::int64_t view, std::uint32_t epoch) const {
  if (refresh == 0) return 0;
  const std::int64_t refreshes = epoch / refresh;
  if (refreshes <= view) return 0;
  return static_cast<std::uint32_t>(refreshes - (refreshes - 1 - view) % layout.views);
}

std::int64_t bank_block(at::Device device) {
  return device.is_cuda() ? 128 : 16;
}

BankPlan plan_bank(const BankOptions& options, BankLayout layout, at::Device device,
                   const BankPlan* beside) {
  if (options.views < 2) throw InternalError("a bank needs two views");
  BankPlan plan{.layout = layout,
                .home = options.home,
                .device = device,
                .folder = options.folder,
                .refresh = options.refresh,
                .views_asked = options.views};
  // Tokens of a block are computed together, so that they do not depend on what else is missing.
  plan.layout.block = bank_block(device);
  plan.layout.views = options.views;
  if (options.max_gb) {
    BankLayout whole = plan.layout;
    whole.images = std::max(options.all_images, layout.images);
    const double fitting =
        *options.max_gb * 1e9 / static_cast<double>(std::max<std::uint64_t>(whole.view_bytes(), 1));
    plan.exceeds_limit = fitting < 2;
    if (fitting < static_cast<double>(options.views))
      plan.layout.views = std::max<std::int64_t>(2, static_cast<std::int64_t>(fitting));
  }
  if (plan.home == BankHome::kDevice && !device.is_cuda()) plan.home = BankHome::kHost;
  if (plan.home == BankHome::kAuto) {
    const std::uint64_t bytes = plan.layout.bytes();
    plan.home = device.is_cuda() && bytes <= room_on(device, options.process, beside)
                    ? BankHome::kDevice
                : bytes <= room_on(at::kCPU, options.process, beside) ? BankHome::kHost
                                                                      : BankHome::kFile;
  }
  return plan;
}

/// Neighbouring slots of one generation: an image is decoded once for all of them.
struct TokenBank::Group {
  std::int64_t first = 0, count = 0;
  std::uint32_t generation = 0;
  std::vector<std::int64_t> blocks;  ///< that any of them misses
  std::uint64_t work = 0;            ///< views to be computed
};

TokenBank::TokenBank(BankPlan plan, const SourceTable& sources, std::vector<std::uint32_t> images,
                     const Trunk& trunk, const LoaderOptions& loader, const ImageWindows* windows,
                     std::map<std::string, std::string> identity, const Context& context,
                     std::size_t first_image)
    : plan_(std::move(plan)),
      sources_(sources),
      images_(std::move(images)),
      trunk_(trunk),
      loader_(loader),
      windows_(loader.strong ? nullptr : windows),
      identity_(std::move(identity)),
      context_(context),
      first_image_(first_image) {
  if (static_cast<std::int64_t>(images_.size()) != plan_.layout.images)
    throw InternalError("TokenBank: a layout for other images");
}

RandomKey TokenBank::view_key(std::size_t image, std::int64_t view,
                              std::uint32_t generation) const {
  return {.seed = context_.seed,
          .purpose = loader_.strong ? RandomPurpose::kStrongBankView : RandomPurpose::kBankView,
          .epoch = generation,
          .position = first_image_ + image,
          .view = static_cast<std::uint8_t>(view)};
}

void TokenBank::open() {
  if (plan_.home != BankHome::kFile) {
    const bool on_device = plan_.home == BankHome::kDevice;
    store_ = make_memory_bank(plan_.layout, on_device ? plan_.device : at::Device(at::kCPU),
                              /*pinned=*/!on_device && plan_.device.is_cuda());
    return;
  }
  const BankLayout& l = plan_.layout;
  // Views are apart: a bank with more of them serves one with fewer, so V is no part of this.
  identity_["images"] = images_digest(sources_, images_);
  if (first_image_ > 0) identity_["first image"] = std::to_string(first_image_);
  identity_["seed"] = std::to_string(context_.seed);
  identity_["shape"] =
      fmt::format("{} x {}, class token {}", l.tokens, l.width, l.with_class_token);
  identity_["dtype"] = c10::toString(l.type);
  identity_["device"] = plan_.device.is_cuda() ? "cuda" : "cpu";
  identity_["block"] = std::to_string(l.block);
  if (loader_.strong) identity_["strong views"] = in_words(*loader_.strong);
  store_ = open_file_bank(l, plan_.folder, identity_, context_.log);
}

std::vector<TokenBank::Group> TokenBank::missing(std::uint32_t epoch) const {
  std::vector<Group> groups;
  const BankLayout& l = plan_.layout;
  for (std::int64_t first = 0, next; first < l.views; first = next) {
    Group group{.first = first, .generation = plan_.generation(first, epoch), .blocks = {}};
    for (next = first + 1; next < l.views && next - first < kViewsAtOnce &&
                           plan_.generation(next, epoch) == group.generation;
         ++next) {
    }
    group.count = next - first;
    for (std::int64_t block = 0; block < l.blocks(); ++block) {
      std::uint64_t slots = 0;
      for (std::int64_t slot = first; slot < next; ++slot)
        slots += store_->has(slot, block) ? 0 : 1;
      if (slots > 0) group.blocks.push_back(block);
      group.work += slots * static_cast<std::uint64_t>(l.rows_of(block));
    }
    if (!group.blocks.empty()) groups.push_back(std::move(group));
  }
  return groups;
}

std::string TokenBank::name() const {
  return loader_.strong ? "token bank of strong views" : "token bank";
}

double TokenBank::seconds_of_trunk(std::int64_t rows) const {
  const at::Tensor pixels = at::zeros({rows, 3, loader_.view.crop, loader_.view.crop},
                                      at::device(plan_.device).dtype(at::kFloat));
  const auto run = [&] {
    const auto start = std::chrono::steady_clock::now();
    (void)trunk_.run(pixels);
    const TrunkTokens tokens = trunk_.run(pixels);
    (tokens.normalised.defined() ? tokens.normalised : tokens.raw)
        .flatten()
        .slice(0, 0, 1)
        .to(at::kCPU);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 2;
  };
  run();
  return run();
}

/// Of views that the loader makes.
double TokenBank::seconds_of_loading(std::int64_t rows) const {
  LoaderOptions options = loader_;
  options.batch = static_cast<std::size_t>(rows);
  options.views = 1;
  SkippedFiles none(BadImagePolicy::parse("fail", "0"), images_.size());
  const auto start = std::chrono::steady_clock::now();
  ImageLoader loader(sources_,
                     ImageList{options.batch,
                               [&](std::size_t i) {
                                 return ImageRequest{images_[i], view_key(i, 0, 0)};
                               }},
                     options, none);
  loader.next();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Two blocks of the trunk, timed, tell what all of them will take; making strong views takes time
/// too. A GPU works while the CPU makes them.
void TokenBank::say_plan(std::uint64_t missing_views) const {
  const BankLayout& l = plan_.layout;
  const std::int64_t block = std::min(l.block, l.images);
  double block_seconds = seconds_of_trunk(block);
  if (loader_.strong) {
    const double loading = seconds_of_loading(block);
    block_seconds =
        plan_.device.is_cuda() ? std::max(block_seconds, loading) : block_seconds + loading;
  }
  const double seconds =
      block_seconds * static_cast<double>(missing_views) / static_cast<double>(block);
  const std::uint64_t all = static_cast<std::uint64_t>(l.views * l.images);
  context_.log.info(fmt::format(
      "{}: {} views of {} images, {} {}; {}about {} of computing", name(), l.views, l.images,
      human_bytes(l.bytes()), home_in_words(plan_),
      missing_views < all ? fmt::format("{} of {} views are there, ", all - missing_views, all)
                          : "",
      human_seconds(seconds)));
  if (seconds > kLongSeconds) {
    context_.log.warning(
        fmt::format("that is more than an hour: fewer views ({}) or a smaller backbone take "
                    "less{}; {} fresh needs no bank, but as much work every {:.0f} epochs",
                    option_name("bank_views"),
                    plan_.home == BankHome::kFile
                        ? fmt::format(", and a stopped run goes on with {}", option_name("resume"))
                        : fmt::format(", and {} file keeps what is done if it is stopped",
                                      option_name("bank_home")),
                    option_name("views"), std::max(1.0, static_cast<double>(l.views) / 2)));
  }
  if (plan_.home != BankHome::kFile) return;
  const auto disk = free_disk(plan_.folder);
  const std::uint64_t needed = l.bytes() / all * missing_views;
  if (disk && needed > *disk) {
    throw FileError(
        fmt::format("{}: the {} needs {} more, and {} are free", plan_.folder.string(), name(),
                    human_bytes(needed), human_bytes(*disk)),
        fmt::format("choose fewer views with {} or {}, or another {}", option_name("bank_views"),
                    option_name("bank_max"), option_name("bank_dir")));
  }
  if (disk && needed > *disk / 2) {
    context_.log.warning(
        fmt::format("{}: the {} takes more than half of the free {}: limit it with {}, or give "
                    "another {}",
                    plan_.folder.string(), name(), human_bytes(*disk), option_name("bank_max"),
                    option_name("bank_dir")));
  }
}

void TokenBank::compute(const Group& group, Progress& progress) {
  const BankLayout& l = plan_.layout;
  const auto size = static_cast<std::size_t>(l.block);
  const auto last_rows = static_cast<std::size_t>(l.rows_of(group.blocks.back()));
  LoaderOptions options = loader_;
  options.batch = size;
  options.views = static_cast<std::size_t>(group.count);
  options.ahead = 1;
  const auto image_of = [&](std::size_t i) {
    return static_cast<std::size_t>(group.blocks[i / size]) * size + i % size;
  };
  SkippedFiles none(BadImagePolicy::parse("fail", "0"), images_.size());
  ImageLoader loader(
      sources_,
      ImageList{
          (group.blocks.size() - 1) * size + last_rows,
          [&](std::size_t i) {
            const std::size_t image = image_of(i);
            return ImageRequest{images_[image], view_key(image, group.first, group.generation)};
          }},
      options, none);
  for (const std::int64_t block : group.blocks) {
    const ImageBatch* batch = loader.next();
    if (batch == nullptr) throw InternalError("TokenBank: the loader ended early");
    const std::int64_t rows = l.rows_of(block);
    for (std::int64_t view = 0; view < group.count; ++view) {
      if (store_->has(group.first + view, block)) continue;
      store_->put(group.first + view, block,
                  trunk_.run(batch->pixels.narrow(0, view * rows, rows)));
      progress.add(static_cast<std::uint64_t>(rows));
    }
    stop_if_asked();
  }
}

void TokenBank::compute_on_gpu(const Group& group, Progress& progress) {
  const BankLayout& l = plan_.layout;
  for (const std::int64_t block : group.blocks) {
    for (std::int64_t view = group.first; view < group.first + group.count; ++view) {
      if (store_->has(view, block)) continue;
      std::vector<WindowRequest> requests;
      for (std::int64_t i = 0; i < l.rows_of(block); ++i) {
        const auto image = static_cast<std::size_t>(block * l.block + i);
        requests.push_back({first_image_ + image, view_key(image, view, group.generation)});
      }
      store_->put(view, block, trunk_.run(windows_->cut(windows_->places_of(requests))));
      progress.add(requests.size());
    }
    stop_if_asked();
  }
}

void TokenBank::stop_if_asked() {
  if (!context_.interrupted()) return;
  store_->flush();
  throw InterruptedError(
      "stopped while the token bank was computed",
      store_->survives()
          ? fmt::format("what is done is kept; repeat the command with {}", option_name("resume"))
          : fmt::format("repeat the command with {}", option_name("resume")));
}

void TokenBank::prepare(std::uint32_t epoch) {
  const bool first = store_ == nullptr;
  if (first) open();
  for (std::int64_t view = 0; view < plan_.layout.views; ++view) {
    store_->use(view, fmt::format("view {} generation {}", view, plan_.generation(view, epoch)));
  }
  const std::vector<Group> groups = missing(epoch);
  std::uint64_t work = 0;
  for (const Group& group : groups) work += group.work;
  if (work == 0) return;
  if (first) say_plan(work);
  const std::string label =
      std::string(loader_.strong ? "strong " : "") + (first ? "bank" : "refresh");
  Progress progress(label, work, "views", context_.progress());
  for (const Group& group : groups) {
    if (windows_ != nullptr) {
      compute_on_gpu(group, progress);
    } else {
      compute(group, progress);
    }
  }
  store_->flush();
}

std::string images_digest(const SourceTable& sources, const std::vector<std::uint32_t>& images) {
  Sha256 digest;
  for (const std::uint32_t source : images) {
    const fs::path file = sources.file(source);
    std::error_code error;
    const auto size = fs::file_size(file, error);
    const auto time = fs::last_write_time(file, error).time_since_epoch().count();
    digest.update(fmt::format("{}\n{} {}\n", sources.path(source), size, time));
  }
  return hexadecimal(digest.finish());
}

}  // namespace protogcd
