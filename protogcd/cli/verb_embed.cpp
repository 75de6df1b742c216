// `protogcd embed`: features of images, to a file.
#include <fmt/core.h>

#include <memory>

#include "protogcd/cli/feature_model.h"
#include "protogcd/cli/interrupt.h"
#include "protogcd/cli/shard_option.h"
#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/json.h"
#include "protogcd/core/text.h"
#include "protogcd/data/image_set.h"
#include "protogcd/data/output_files.h"
#include "protogcd/engine/embed.h"

namespace protogcd::cli {
namespace {

struct EmbedVerbOptions {
  std::string set, shard;
  FeatureModelOptions network;
  EmbedOptions embed;
};

void embed(EmbedVerbOptions options, Session& session) {
  const ImageSet set = open_image_set(options.set, session.context.log);
  choose_feature_model(options.network, set.sources, session.context.log);
  FeatureModel network = open_feature_model(options.network, set.is_benchmark, session.context.log);
  EmbedOptions embedding = options.embed;
  embedding.reading = network.reading;
  embedding.shard = Shard::parse(options.shard);
  const InterruptGuard interrupt(session.host_stop);
  Context context = session.context;
  context.stop = interrupt.token();
  const EmbedSummary summary = embed_images(set.sources, std::move(network.backbone), embedding,
                                            session.bad_image_policy(), context);
  if (summary.was_finished) return tell_finished_shard(summary.out, session);
  const double fresh = static_cast<double>(summary.images + summary.skipped - summary.resumed);
  const double rate = summary.seconds > 0 ? fresh / summary.seconds : 0;
  if (session.json()) {
    session.print_json({{"out", summary.out.string()},
                        {"images", summary.images},
                        {"skipped", summary.skipped},
                        {"resumed", summary.resumed},
                        {"width", summary.width},
                        {"seconds", summary.seconds},
                        {"images_per_second", rate}});
    return;
  }
  say("{}: {} images, {} numbers each, {:.1f} images/s\n", summary.out.string(), summary.images,
      summary.width, rate);
  if (summary.skipped > 0) {
    const OutputFiles files =
        OutputFiles::of_features(summary.out, /*is_shard=*/embedding.shard.has_value());
    say("{} images skipped, see {}\n", summary.skipped, files.skipped.filename().string());
  }
}

}  // namespace

Verb embed_verb() {
  return {
      .name = "embed",
      .summary = "features of images to a file",
      .example =
          "protogcd embed --images photos --backbone dino-vitb16 --out features.npy\n"
          "  protogcd embed --images photos --model run --out trained.npy",
      .declare = [](OptionTable& table) -> Action {
        auto options = std::make_shared<EmbedVerbOptions>();
        auto& embedding = options->embed;
        table
            .add("images", &options->set,
                 "a folder of images, any nesting, or test images of a known dataset (cub:ROOT, "
                 "...)")
            .value_name("DIR")
            .required();
        declare_feature_model(table, options->network);
        table.add("out", &embedding.out, "features [N, D]; paths go to the .csv beside it")
            .value_name("FILE.npy")
            .required();
        table.add("tokens", &embedding.tokens, "also write all tokens, [N, T, D]");
        table.add("batch", &embedding.batch, "images at once (16 on a CPU, 256 on a GPU)")
            .at_least(1)
            .at_most(65536);
        table.add("overwrite", &embedding.overwrite, "replace the output if it exists").flag_only();
        table.add("resume", &embedding.resume, "go on with an output that was not finished")
            .flag_only();
        declare_shard(table, options->shard);
        return [options](Session& session) { embed(*options, session); };
      }};
}

}  // namespace protogcd::cli
