#include "protogcd/engine/embed.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/core.h>

#include <chrono>
#include <numeric>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/partial_rows.h"
#include "protogcd/core/sha256.h"
#include "protogcd/core/text.h"
#include "protogcd/engine/embedder.h"
#include "protogcd/engine/image_loader.h"
#include "protogcd/engine/placement.h"
#include "protogcd/engine/trunk.h"
#include "protogcd/nn/device.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

/// Where everything goes.
struct OutputPaths {
  explicit OutputPaths(const EmbedOptions& options) : features(options.out) {
    if (features.extension() != ".npy" || features.stem().empty()) {
      throw UsageError(
          fmt::format("{}: '{}' does not end in .npy", option_name("out"), features.string()));
    }
    paths = fs::path(features).replace_extension(".csv");
    tokens = fs::path(features).replace_filename(features.stem().string() + "-tokens.npy");
    skipped = fs::path(features).replace_filename(kSkippedFile);
  }

  /// Nothing that exists is touched unless told to, and unfinished work is not thrown away.
  void check(const EmbedOptions& options) const {
    const fs::path partial = PartialRows::folder_of(features);
    if (fs::exists(partial) && !options.resume && !options.overwrite) {
      throw UsageError(
          fmt::format("{}: '{}' was begun and not finished", option_name("out"), features.string()),
          fmt::format("add {} to go on with it, or {} to start anew", option_name("resume"),
                      option_name("overwrite")));
    }
    // A run killed while it named its files has written the smaller ones already.
    if (options.resume && fs::exists(partial)) {
      check_output_path(features, options.overwrite);
      return;
    }
    for (const auto* path : {&features, &paths, &skipped}) {
      check_output_path(*path, options.overwrite);
    }
    if (options.tokens) check_output_path(tokens, options.overwrite);
  }

  fs::path features, paths, tokens, skipped;
};

std::string paths_digest(const SourceTable& sources) {
  Sha256 digest;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    digest.update(sources.path(i));
    digest.update(std::string_view("\0", 1));
  }
  return hexadecimal(digest.finish());
}

/// Everything the numbers depend on; the names are for people.
std::map<std::string, std::string> identity_of(const SourceTable& sources, const Backbone& backbone,
                                               const EmbedOptions& options,
                                               const Placement& placement, std::int64_t batch) {
  const Preprocessing& pixels = backbone.preprocessing;
  return {{"images", paths_digest(sources)},
          {"weights", backbone_sha256(backbone.file) +
                          (backbone.trained ? " and " + backbone.trained->sha256 : "")},
          {"preprocessing",
           fmt::format("size {}, mean {}, std {}, upright {}, fast decoding {}", pixels.size,
                       join(pixels.mean, " "), join(pixels.deviation, " "),
                       options.reading.apply_orientation, options.reading.fast_decode)},
          {"number of heads", fmt::format("{}", backbone.config.heads)},
          {"dtype", placement.arithmetic()},
          {"device", placement.device.is_cuda() ? "cuda" : "cpu"},
          {"batch size", fmt::format("{}", batch)},
          {"choice of tokens", options.tokens ? "yes" : "no"}};
}

std::span<const std::byte> bytes_of(const at::Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()};
}

/// The list of paths, one for each row, and skipped.csv where there is something to say.
void write_tables(const OutputPaths& out, const SourceTable& sources, const SkippedFiles& skipped) {
  const auto bad = skipped.files();
  auto next_bad = bad.begin();
  CsvWriter writer(out.paths, {"path"});
  CsvPaths paths(out.paths);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (next_bad != bad.end() && next_bad->source == i) {
      ++next_bad;
    } else {
      writer.row({paths(sources, i)});
    }
  }
  writer.commit();
  skipped.write_if_any(out.skipped, sources);
}

/// Runs what is left of the list through the model.
void embed_rest(const SourceTable& sources, const Embedder& embedder, const LoaderOptions& loader,
                SkippedFiles& skipped, PartialRows& rows, const Context& context) {
  std::vector<std::uint32_t> list(sources.size());
  std::iota(list.begin(), list.end(), 0u);
  const std::uint64_t first = rows.items();
  Progress progress("embed", list.size() - first, "images", context.progress());
  ImageLoader images(sources,
                     ImageList::center_views(std::span<const std::uint32_t>(list).subspan(first)),
                     loader, skipped);
  std::size_t noted = skipped.count(), done = 0;
  // Bad images of a batch are written with it, not when the loader meets them.
  const auto note_bad = [&](std::size_t end) {
    if (skipped.count() == noted) return;
    const auto bad = skipped.files();  // ordered, and noted in order: the new ones are the last
    for (; noted < bad.size() && bad[noted].source < end; ++noted)
      rows.reject(bad[noted].source, bad[noted].reason);
  };
  struct Batch {
    Embedder::Pending pending;
    std::size_t end, rows;
  };
  const auto finish = [&](const Batch& batch) {
    const auto result = Embedder::wait(batch.pending);
    rows.append(0, bytes_of(result.features));
    if (result.tokens.defined()) rows.append(1, bytes_of(result.tokens));
    note_bad(first + batch.end);
    rows.finish_items(first + batch.end, batch.rows);
    progress.add(batch.end - done);
    done = batch.end;
    if (context.interrupted() && first + done < list.size()) {
      rows.save();
      throw InterruptedError(
          fmt::format("interrupted: {} of {} images are done and kept", rows.items(), list.size()),
          fmt::format("repeat the command with {} to go on", option_name("resume")));
    }
  };
  std::optional<Batch> last;
  while (const ImageBatch* batch = images.next()) {
    Batch next{embedder.start(batch->pixels), batch->end, batch->sources.size()};
    if (last) finish(*last);
    last = std::move(next);
  }
  if (last) finish(*last);
  note_bad(list.size());  // images at the very end of the list
  rows.finish_items(list.size(), 0);
  progress.add(list.size() - first - done);
}

}  // namespace

EmbedSummary embed_images(const SourceTable& sources, Backbone backbone,
                          const EmbedOptions& options, const BadImagePolicy& policy,
                          const Context& context) {
  const OutputPaths out(options);
  out.check(options);
  const Placement placement = place(context);
  const std::int64_t batch = options.batch.value_or(placement.trunk_batch());
  const VitConfig config = backbone.config;
  const Preprocessing pixels = backbone.preprocessing;
  const auto identity = identity_of(sources, backbone, options, placement, batch);

  const ComputeSettings settings(context);
  const Embedder embedder(std::move(backbone), placement, options.tokens);
  std::vector<PartialArray> arrays = {
      {out.features, element_type_of(embedder.type()), {config.width}}};
  if (options.tokens) {
    arrays.push_back({out.tokens,
                      element_type_of(embedder.type()),
                      {config.token_count(pixels.size), config.width}});
  }
  if (out.features.has_parent_path()) create_folders(out.features.parent_path());
  PartialRows rows(std::move(arrays), identity, options.resume);
  SkippedFiles skipped(policy, sources.size());
  for (const auto& [source, reason] : rows.rejected()) skipped.add(sources, source, reason);
  const std::uint64_t resumed = rows.items();
  if (resumed > 0)
    context.log.info(fmt::format("{} of {} images are done already", resumed, sources.size()));

  const auto start = std::chrono::steady_clock::now();
  embed_rest(sources, embedder,
             loader_options(pixels, options.reading, batch, context.threads, placement.device),
             skipped, rows, context);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  write_tables(out, sources, skipped);
  rows.commit();
  skipped.check(sources, fmt::format("the other {} are in {}", rows.rows(), out.features.string()));
  return {.images = rows.rows(),
          .skipped = skipped.listed(sources),
          .resumed = resumed,
          .width = config.width,
          .seconds = seconds.count()};
}

}  // namespace protogcd
