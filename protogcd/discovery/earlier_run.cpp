#include "protogcd/discovery/earlier_run.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/text.h"
#include "protogcd/methods/head_options.h"
#include "protogcd/model/stored_model.h"
#include "protogcd/nn/head.h"
#include "protogcd/run/run_files.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

UsageError refused(const fs::path& run, const std::string& why, const std::string& hint = {}) {
  return UsageError(fmt::format("{}: {} {}", option_name("from"), run.string(), why), hint);
}

/// Whether `inner` is `outer` or lies in it.
bool is_within(const fs::path& inner, const fs::path& outer) {
  const fs::path below = fs::weakly_canonical(inner);
  fs::path above = fs::weakly_canonical(outer);
  if (!above.has_filename()) above = above.parent_path();
  const fs::path relative = below.lexically_relative(above);
  return !relative.empty() && *relative.begin() != "..";
}

void check_is_finished_run(const fs::path& run, const fs::path& out) {
  if (!fs::is_directory(run)) throw refused(run, "is no folder", "name the folder of a run");
  if (is_within(run, out))
    throw refused(run, fmt::format("lies in {}, the folder of this run", out.string()),
                  fmt::format("choose another {}", option_name("out")));
  if (fs::exists(model_folder(run) / run_files::kModelInfo)) {
    const bool is_run = fs::exists(run / run_files::kConfig);
    if (!is_run || fs::exists(run / run_files::kResult)) return;
  }
  if (fs::exists(run / run_files::kResult))
    throw refused(run, "holds several runs", "name one of the folders in it");
  if (fs::exists(run / run_files::kConfig))
    throw refused(run, "is not finished", fmt::format("go on with it: {}", option_name("resume")));
  throw refused(run, "is no run: there is no model in it", "name the folder of a finished run");
}

std::string in_words(const std::array<double, 3>& numbers) {
  return join(numbers, " ");
}

void check_fits(const fs::path& run, const ModelInfo& info, const Backbone& backbone,
                std::int64_t first_block) {
  if (info.backbone_sha256 != backbone_sha256(backbone.file) ||
      info.backbone_heads != backbone.config.heads) {
    throw refused(run,
                  fmt::format("was trained on another backbone, {} and not {}", info.backbone_file,
                              backbone.file.string()),
                  fmt::format("give the same {}", option_name("backbone")));
  }
  const Preprocessing &then = info.preprocessing, &now = backbone.preprocessing;
  if (then.size != now.size)
    throw refused(run, fmt::format("sees images of {} pixels, this run of {}", then.size, now.size),
                  fmt::format("give the same {}", option_name("image_size")));
  if (then.mean != now.mean || then.deviation != now.deviation) {
    throw refused(run,
                  fmt::format("was trained with mean {} and deviation {}, this run has {} and "
                              "{}",
                              in_words(then.mean), in_words(then.deviation), in_words(now.mean),
                              in_words(now.deviation)),
                  fmt::format("give the same {} and {}", option_name("mean"), option_name("std")));
  }
  if (info.first_trained_block != first_block) {
    throw refused(
        run,
        fmt::format("trained the blocks from {} on, this run those from {} on",
                    info.first_trained_block, first_block),
        fmt::format("give {} {}", option_name("grad_from_block"), info.first_trained_block));
  }
}

bool same_old_classes(const ModelInfo& then, const ModelInfo& now) {
  const auto old_of = [](const ModelInfo& info) {
    return std::span(info.classes).first(static_cast<std::size_t>(info.old_classes));
  };
  return std::ranges::is_permutation(old_of(then), old_of(now));
}

/// Whether the first new classes are those of the earlier run, by their numbers.
bool keeps_new_classes(const ModelInfo& then, const ModelInfo& now) {
  return then.k() <= now.k() && same_old_classes(then, now);
}

/// Where each class of `now` stands among those of `then`; -1: nowhere.
std::vector<std::int64_t> places_of(const ModelInfo& then, const ModelInfo& now) {
  std::vector<std::int64_t> places(static_cast<std::size_t>(now.k()), -1);
  for (std::int64_t c = 0; c < now.k(); ++c) {
    std::int64_t& place = places[static_cast<std::size_t>(c)];
    if (now.is_new(c)) {
      if (c < then.k() && keeps_new_classes(then, now)) place = c;
      continue;
    }
    const auto end = then.classes.begin() + then.old_classes;
    const auto found =
        std::find(then.classes.begin(), end, now.classes[static_cast<std::size_t>(c)]);
    if (found != end) place = found - then.classes.begin();
  }
  return places;
}

}  // namespace

std::optional<EarlierRun> open_earlier_run(const TrainOptions& options, const Backbone& backbone,
                                           bool is_first_stage) {
  if (options.from.empty()) return std::nullopt;
  if (!is_first_stage) check_is_finished_run(options.from, options.out);
  const std::int64_t first_block =
      options.material.grad_from_block.value_or(backbone.config.depth - 1);
  // Looked at before its backbone is opened, which need not be there.
  check_fits(options.from, stored_info(options.from), backbone, first_block);
  StoredModel stored = open_stored_model(options.from, backbone.file);
  EarlierRun earlier{.run = options.from,
                     .info = stored.info,
                     .blocks = {},
                     .prototypes = stored.prototypes.centres,
                     .of_method = std::move(stored.of_method),
                     .is_first_stage = is_first_stage};
  for (std::int64_t i = first_block; i < backbone.config.depth; ++i) {
    earlier.blocks.merge(named_tensors(
        stored.backbone.vit.weights().blocks[static_cast<std::size_t>(i)], backbone.config, i));
  }
  const auto stage = options.method->first_stage();
  earlier.gives_head = !stage || stage->method->name() != earlier.info.method;
  return earlier;
}

Backbone with_blocks_of(const EarlierRun& earlier, const Backbone& backbone) {
  Backbone begun = backbone;
  begun.vit = with_blocks(backbone.vit, earlier.info.first_trained_block,
                          earlier.blocks.begin()->second.scalar_type(), earlier.blocks);
  return begun;
}

std::int64_t with_classes_of(const EarlierRun& earlier, const ModelInfo& info,
                             std::int64_t unlabelled, const Logger& log) {
  const ModelInfo& then = earlier.info;
  const bool has_room = then.k() - then.old_classes <= unlabelled;
  if (!earlier.gives_head || then.k() <= info.k() || !has_room || !same_old_classes(then, info))
    return info.k();
  log.info(fmt::format("the {} classes of {} stay, though no more than {} were estimated", then.k(),
                       earlier.run.string(), info.k()));
  return then.k();
}

TakenHead head_of(const EarlierRun& earlier, const ModelInfo& info) {
  if (!earlier.gives_head) return {};
  TakenHead taken{.prototypes = at::zeros({info.k(), info.width}), .parameters = earlier.of_method};
  const at::Tensor directions = unit_rows(earlier.prototypes).to(at::kCPU, at::kFloat);
  const std::vector<std::int64_t> places = places_of(earlier.info, info);
  for (std::size_t c = 0; c < places.size(); ++c)
    if (places[c] >= 0) taken.prototypes[static_cast<std::int64_t>(c)].copy_(directions[places[c]]);
  return taken;
}

TakenFrom taken_from(const EarlierRun& earlier, const ModelInfo& info, const Method& method,
                     std::vector<std::string> parameters) {
  TakenFrom taken{.run = earlier.run,
                  .is_first_stage = earlier.is_first_stage,
                  .method = earlier.info.method,
                  .sha256 = earlier.info.tensors_sha256,
                  .first_block = earlier.info.first_trained_block,
                  .tensors = std::move(parameters)};
  if (!earlier.gives_head) return taken;
  // A clustering has no prototypes to begin with, but numbers its clusters by all of them.
  if (method.of_classes().empty() && !head_of(earlier, info).keeps_classes(info.old_classes))
    return taken;
  const std::vector<std::int64_t> places = places_of(earlier.info, info);
  for (std::size_t c = 0; c < places.size(); ++c) {
    if (places[c] < 0) continue;
    taken.classes.push_back(info.classes[c]);
    if (!info.is_new(static_cast<std::int64_t>(c))) ++taken.old_classes;
  }
  return taken;
}

void tell_taken(const TakenFrom& taken, const EarlierRun& earlier, const ModelInfo& info,
                const Logger& log) {
  log.info(taken.in_words());
  const ModelInfo& then = earlier.info;
  if (!earlier.gives_head || (then.k() == info.k() && same_old_classes(then, info))) return;
  if (keeps_new_classes(then, info)) {
    log.info(fmt::format("{} further new classes are found beside those of {}", info.k() - then.k(),
                         earlier.run.string()));
    return;
  }
  log.info(
      fmt::format("new classes are found anew: {} has {} old and {} new ones, this run {} and {}{}",
                  earlier.run.string(), then.old_classes, then.k() - then.old_classes,
                  info.old_classes, info.k() - info.old_classes,
                  then.old_classes == info.old_classes && !same_old_classes(then, info)
                      ? ", old ones of other names"
                      : ""));
}

}  // namespace protogcd
