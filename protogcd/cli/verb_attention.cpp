// `protogcd attention`: where a model looks, as pictures, before and after training.
#include <ATen/core/Tensor.h>
#include <fmt/core.h>

#include <memory>
#include <numeric>

#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/data/image_set.h"
#include "protogcd/image/contact_sheet.h"
#include "protogcd/image/encode.h"
#include "protogcd/model/stored_model.h"
#include "protogcd/nn/device.h"
#include "protogcd/studies/attention_maps.h"

namespace protogcd::cli {
namespace {

struct AttentionVerbOptions {
  std::filesystem::path model, backbone, out;
  std::string images;
  std::int64_t limit = 12, heads = 0;
  bool overwrite = false;
};

void attention(const AttentionVerbOptions& options, Session& session) {
  check_output_file(options.out, options.overwrite, "out");
  const ComputeSettings settings(session.context);
  Context context = session.context;
  context.device = "cpu";  // a few images
  const ImageSet set = open_image_set(options.images, context.log);
  const TrainedModel model = load_model(options.model, options.backbone, context);
  const Backbone backbone = backbone_of(model.info(), options.backbone);
  const std::int64_t all_heads = backbone.config.heads,
                     heads = options.heads > 0 ? std::min(options.heads, all_heads) : all_heads;

  const auto count =
      std::min<std::size_t>(set.sources.size(), static_cast<std::size_t>(options.limit));
  if (count < set.sources.size()) {
    context.log.info(
        fmt::format("the first {} of {} images are shown (--limit)", count, set.sources.size()));
  }
  std::vector<std::uint32_t> list(count);
  std::iota(list.begin(), list.end(), 0u);
  SkippedFiles skipped(session.bad_image_policy(), count);
  std::vector<Image> tiles;
  std::vector<std::string> paths;
  for_each_attention(backbone, model, set.sources, list, context.threads, skipped,
                     [&](const AttentionExample& example) {
                       for (const at::Tensor& maps : {example.before, example.after}) {
                         tiles.push_back(example.view);
                         for (std::int64_t head = 0; head < heads; ++head)
                           tiles.push_back(attention_overlay(example.view, maps[head]));
                       }
                       paths.push_back(set.sources.path(example.source));
                     });
  if (tiles.empty()) throw DataError(fmt::format("--images {}: no image could be read", set.name));
  write_png(options.out, contact_sheet(tiles, static_cast<int>(heads) + 1));
  for (const SkippedFile& bad : skipped.files())
    context.log.warning(fmt::format("{}: {}", set.sources.path(bad.source), bad.reason));
  skipped.check(set.sources, fmt::format("the others are on {}", options.out.string()));
  if (session.json()) {
    return session.print_json({{"out", options.out.string()}, {"heads", heads}, {"images", paths}});
  }
  say("{}: {} images, two rows each: the view and {} heads of the last block before and "
      "after training\n",
      options.out.string(), paths.size(), heads);
}

}  // namespace

Verb attention_verb() {
  return {.name = "attention",
          .summary = "where a model looks, as pictures, before and after training",
          .example = "protogcd attention --model run --images photos/owls --out attention.png",
          .declare = [](OptionTable& table) -> Action {
            auto options = std::make_shared<AttentionVerbOptions>();
            table.add("model", &options->model, "the folder of a finished run")
                .value_name("RUN")
                .required();
            table.add("images", &options->images, "a folder, one image, or NAME:ROOT")
                .value_name("DIR")
                .required();
            table.add("limit", &options->limit, "images to show").at_least(1).at_most(1000);
            table.add("heads", &options->heads, "heads to show, 0 = all").at_least(0);
            table
                .add("backbone", &options->backbone,
                     "where the model's backbone is now, if it was moved")
                .value_name("FILE");
            table.add("out", &options->out, "the picture").value_name("FILE.png").required();
            table.add("overwrite", &options->overwrite, "replace the picture").flag_only();
            return [options](Session& session) { attention(*options, session); };
          }};
}

}  // namespace protogcd::cli
