// `protogcd bench embed`: photographs to features, beside its two halves alone.
#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>

#include "protogcd/cli/bench_photos.h"
#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/json.h"
#include "protogcd/core/safetensors.h"
#include "protogcd/engine/embed.h"
#include "protogcd/engine/embedder.h"
#include "protogcd/engine/image_loader.h"
#include "protogcd/nn/device.h"
#include "protogcd/nn/random_state.h"

namespace protogcd::cli {
namespace {

struct BenchEmbedOptions {
  std::string backbone = "dino-vits16";
  std::int64_t images = 192;
  std::int64_t width = 500;
  std::int64_t batch = 0;
  std::int64_t runs = 5;
};

struct EmbedRates {
  std::vector<double> values;

  double median() const {
    auto sorted = values;
    std::ranges::sort(sorted);
    return sorted[sorted.size() / 2];
  }
};

class EmbedBenchmark {
 public:
  EmbedBenchmark(const BenchEmbedOptions& options, Session& session);
  void run();
  void print() const;

 private:
  double time_decoding() const;
  double time_model(const Embedder& embedder) const;
  double time_embed() const;
  /// With decoding and computing on the same cores, what no program can beat.
  double shared() const { return 1 / (1 / decoding_.median() + 1 / model_.median()); }
  double slower() const { return std::min(decoding_.median(), model_.median()); }

  const BenchEmbedOptions& options_;
  Session& session_;
  Placement placement_;
  std::int64_t batch_;
  BenchPhotos photos_;
  SourceTable sources_;  ///< the photographs, again and again
  Backbone backbone_;
  EmbedRates decoding_, model_, embed_;
};

constexpr int kPhotos = 48;

/// The preset's geometry with random weights, as a file: embed works with files.
Backbone random_backbone(const BenchEmbedOptions& options, const ScratchFolder& folder) {
  const VitPreset* preset = find_vit_preset(options.backbone);
  if (preset == nullptr)
    return load_backbone({.backbone = options.backbone, .weights_dir = {}, .heads = {}});
  const StateDict state = random_vit_state(preset->config, at::kFloat, 0.02);
  std::vector<TensorEntry> entries;
  for (const auto& [name, tensor] : state.tensors) entries.push_back(entry_of(name, tensor));
  const auto file = folder / "weights.safetensors";
  write_safetensors(file, entries);
  return load_backbone(
      {.backbone = file.string(), .weights_dir = {}, .heads = preset->config.heads});
}

EmbedBenchmark::EmbedBenchmark(const BenchEmbedOptions& options, Session& session)
    : options_(options),
      session_(session),
      placement_(place(session.context)),
      batch_(options.batch > 0 ? options.batch : placement_.trunk_batch()),
      photos_({static_cast<int>(options.width), static_cast<int>(options.width * 3 / 4)}, kPhotos,
              session.context.seed),
      backbone_(random_backbone(options, photos_.folder())) {
  const auto& files = photos_.files();
  for (std::int64_t i = 0; i < options.images; ++i)
    sources_.add_path(files[static_cast<std::size_t>(i) % files.size()]);
}

template <class Function>
double seconds_taken_by(const Function& function) {
  const auto start = std::chrono::steady_clock::now();
  function();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double EmbedBenchmark::time_decoding() const {
  std::vector<std::uint32_t> list(sources_.size());
  std::iota(list.begin(), list.end(), 0U);
  SkippedFiles skipped(session_.bad_image_policy(), list.size());
  const LoaderOptions loader = loader_options(backbone_.preprocessing, {}, batch_,
                                              session_.context.threads, placement_.device);
  return static_cast<double>(options_.images) / seconds_taken_by([&] {
           ImageLoader images(sources_, ImageList::center_views(list), loader, skipped);
           while (images.next() != nullptr) {
           }
         });
}

double EmbedBenchmark::time_model(const Embedder& embedder) const {
  const std::int64_t size = backbone_.preprocessing.size;
  const at::Tensor images =
      at::randn({batch_, 3, size, size}, at::device(placement_.device).dtype(at::kFloat));
  const std::int64_t batches = (options_.images + batch_ - 1) / batch_;
  Embedder::wait(embedder.start(images));
  return static_cast<double>(batches * batch_) / seconds_taken_by([&] {
           Embedder::Pending last = embedder.start(images);
           for (std::int64_t i = 1; i < batches; ++i) {
             Embedder::Pending next = embedder.start(images);
             Embedder::wait(last);
             last = std::move(next);
           }
           Embedder::wait(last);
         });
}

double EmbedBenchmark::time_embed() const {
  const EmbedOptions embedding{
      .out = photos_.folder() / "features.npy", .batch = batch_, .reading = {}, .overwrite = true};
  const Context context{.device = session_.context.device,
                        .dtype = session_.context.dtype,
                        .threads = session_.context.threads,
                        .seed = session_.context.seed};
  const EmbedSummary summary =
      embed_images(sources_, backbone_, embedding, session_.bad_image_policy(), context);
  return static_cast<double>(summary.images) / summary.seconds;
}

void EmbedBenchmark::run() {
  const ComputeThreads compute_threads(session_.context.threads);
  const Embedder embedder(backbone_, placement_, /*with_tokens=*/false);
  time_decoding();                                    // files come into memory
  for (std::int64_t i = 0; i < options_.runs; ++i) {  // in turn: a busy machine slows all
    decoding_.values.push_back(time_decoding());
    model_.values.push_back(time_model(embedder));
    embed_.values.push_back(time_embed());
  }
}

void EmbedBenchmark::print() const {
  if (session_.json()) {
    session_.print_json({{"backbone", options_.backbone},
                         {"device", placement_.device.str()},
                         {"threads", session_.context.threads},
                         {"batch", batch_},
                         {"images", options_.images},
                         {"runs", options_.runs},
                         {"decoding_images_per_second", decoding_.median()},
                         {"model_images_per_second", model_.median()},
                         {"embed_images_per_second", embed_.median()},
                         {"share_of_slower", embed_.median() / slower()},
                         {"shared_bound_images_per_second", shared()},
                         {"share_of_shared_bound", embed_.median() / shared()}});
    return;
  }
  say("{}, {}, {} threads, batches of {}, {} JPEGs of {}x{}; medians of {} runs\n",
      options_.backbone, placement_.device.str(), session_.context.threads, batch_, options_.images,
      photos_.size().width, photos_.size().height, options_.runs);
  say("{:28} {:>10.1f} images/s\n", "decoding alone", decoding_.median());
  say("{:28} {:>10.1f}\n", "model alone", model_.median());
  say("{:28} {:>10.1f}   {:.1f}% of the slower one\n", "embed", embed_.median(),
      100 * embed_.median() / slower());
  say("{:28} {:>10.1f}   embed is {:.1f}% of it\n", "both in turn on all cores", shared(),
      100 * embed_.median() / shared());
}

}  // namespace

Verb bench_embed_verb() {
  return {.name = "bench embed",
          .summary = "photographs to features, beside decoding alone and the model alone",
          .example = "protogcd bench embed --backbone dino-vitb16",
          .declare = [](OptionTable& table) -> Action {
            auto options = std::make_shared<BenchEmbedOptions>();
            table.add("backbone", &options->backbone, "a preset (random weights) or a file")
                .value_name("NAME|FILE");
            table.add("images", &options->images, "photographs embedded per run")
                .at_least(1)
                .at_most(1000000);
            table.add("width", &options->width, "width of the photos, which are 4:3")
                .at_least(320)
                .at_most(8192);
            table.add("batch", &options->batch, "images at a time, 0 = embed's default")
                .at_least(0)
                .at_most(65536);
            table.add("runs", &options->runs, "measurements of each, taken in turn")
                .at_least(1)
                .at_most(1000);
            return [options](Session& session) {
              EmbedBenchmark benchmark(*options, session);
              benchmark.run();
              benchmark.print();
            };
          }};
}

}  // namespace protogcd::cli
