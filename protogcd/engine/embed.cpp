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
#include "protogcd/core/text.h"
#include "protogcd/data/output_files.h"
#include "protogcd/engine/embedder.h"
#include "protogcd/engine/image_loader.h"
#include "protogcd/engine/placement.h"
#include "protogcd/engine/trunk.h"
#include "protogcd/nn/device.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

/// Where everything goes.
struct OutputPaths : OutputFiles {
  explicit OutputPaths(const EmbedOptions& options)
      : OutputFiles(of_features(options.shard ? options.shard->file(options.out) : options.out,
                                options.shard.has_value())) {
    if (output.extension() != ".npy" || output.stem().empty()) {
      throw UsageError(
          fmt::format("{}: '{}' does not end in .npy", option_name("out"), options.out.string()));
    }
  }

  bool is_begun() const {
    return fs::exists(PartialRows::folder_of(output)) && !PartialRows::is_committed(output);
  }

  /// Nothing that exists is touched unless told to, and unfinished work is not thrown away.
  void check(const EmbedOptions& options) const {
    if (is_begun() && !options.resume && !options.overwrite) {
      throw UsageError(
          fmt::format("{}: '{}' was begun and not finished", option_name("out"), output.string()),
          fmt::format("add {} to go on with it, or {} to start anew", option_name("resume"),
                      option_name("overwrite")));
    }
    const bool overwrite = options.overwrite || may_replace_shard(options.shard, output);
    // A run killed while it named its files has written the smaller ones already.
    if (options.resume && is_begun()) {
      check_output_path(output, overwrite);
      return;
    }
    for (const auto* path : {&output, &paths, &skipped}) {
      check_output_path(*path, overwrite);
    }
    if (options.tokens) check_output_path(tokens, overwrite);
  }
};

/// Everything the numbers depend on; the names are for people.
std::map<std::string, std::string> identity_of(const SourceTable& sources, const Backbone& backbone,
                                               const EmbedOptions& options,
                                               const Placement& placement, std::int64_t batch) {
  const Preprocessing& pixels = backbone.preprocessing;
  return {{"list of images", list_digest(sources)},
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

/// A part of the list: [first, end).
struct Part {
  std::size_t first, end;

  std::size_t size() const { return end - first; }
};

/// The list of paths, one for each row, and what was skipped where there is something to say.
void write_tables(const OutputPaths& out, const SourceTable& sources, const Part& part,
                  const SkippedFiles& skipped, bool lists_unreadable) {
  const auto bad = skipped.files();
  auto next_bad = bad.begin();
  CsvWriter writer(out.paths, {"path"});
  CsvPaths paths(out.paths);
  for (std::size_t i = part.first; i < part.end; ++i) {
    if (next_bad != bad.end() && next_bad->source == i) {
      ++next_bad;
    } else {
      writer.row({paths(sources, i)});
    }
  }
  writer.commit();
  skipped.write_if_any(out.skipped, sources, lists_unreadable);
}

/// Runs what is left of this part of the list through the model.
void embed_rest(const SourceTable& sources, const Part& part, const Embedder& embedder,
                const LoaderOptions& loader, SkippedFiles& skipped, PartialRows& rows,
                const Context& context) {
  std::vector<std::uint32_t> list(part.size());
  std::iota(list.begin(), list.end(), static_cast<std::uint32_t>(part.first));
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
    for (; noted < bad.size() && bad[noted].source < part.first + end; ++noted)
      rows.reject(bad[noted].source - part.first, bad[noted].reason);
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
  const Placement placement = place(context);
  const std::int64_t batch = options.batch.value_or(placement.trunk_batch());
  const VitConfig config = backbone.config;
  const Preprocessing pixels = backbone.preprocessing;
  const Part part = [&] {
    const auto [first, end] =
        range_of(options.shard, sources.size(), static_cast<std::size_t>(batch));
    return Part{first, end};
  }();
  const auto identity = identity_of(sources, backbone, options, placement, batch);
  ShardNote note{.kind = "features",
                 .shard = options.shard.value_or(Shard{}),
                 .identity = identity,
                 .images = part.size()};
  if (options.shard && options.resume && !options.overwrite &&
      is_finished_shard(out.output, note)) {
    return {.out = out.output, .was_finished = true};
  }
  out.check(options);
  fs::remove(ShardNote::path_of(out.output));

  const ComputeSettings settings(context);
  const Embedder embedder(std::move(backbone), placement, options.tokens);
  std::vector<PartialArray> arrays = {
      {out.output, element_type_of(embedder.type()), {config.width}}};
  if (options.tokens) {
    arrays.push_back({out.tokens,
                      element_type_of(embedder.type()),
                      {config.token_count(pixels.size), config.width}});
  }
  if (out.output.has_parent_path()) create_folders(out.output.parent_path());
  auto begun_as = identity;
  if (options.shard) begun_as["shard"] = options.shard->in_words();
  PartialRows rows(std::move(arrays), begun_as, options.resume && out.is_begun());
  const std::uint64_t resumed = rows.items();
  if (resumed > part.size()) {
    throw FileError(fmt::format("{}: {} images are done, and there are {}",
                                PartialRows::folder_of(out.output).string(), resumed, part.size()),
                    fmt::format("start anew with {}", option_name("overwrite")));
  }
  SkippedFiles skipped(policy, part.size());
  for (const auto& [item, reason] : rows.rejected())
    skipped.add(sources, part.first + item, reason);
  if (resumed > 0)
    context.log.info(fmt::format("{} of {} images are done already", resumed, part.size()));

  const auto start = std::chrono::steady_clock::now();
  embed_rest(sources, part, embedder,
             loader_options(pixels, options.reading, batch, context.threads, placement.device),
             skipped, rows, context);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  // Of shards, the last lists the files of kinds that cannot be read, as they stand at the end.
  const bool lists_unreadable = !options.shard || options.shard->is_last();
  write_tables(out, sources, part, skipped, lists_unreadable);
  rows.commit();
  if (options.shard) {
    note.skipped = skipped.count();
    for (const auto& [what, file] : {std::pair{"output", &out.output},
                                     {"paths", &out.paths},
                                     {"tokens", &out.tokens},
                                     {"skipped", &out.skipped}})
      note.add_file(what, *file);
    note.write(out.output);
  } else {
    skipped.check(sources, fmt::format("the other {} are in {}", rows.rows(), out.output.string()));
  }
  return {.out = out.output,
          .images = rows.rows(),
          .skipped = skipped.listed(sources, lists_unreadable),
          .resumed = resumed,
          .width = config.width,
          .seconds = seconds.count()};
}

}  // namespace protogcd
