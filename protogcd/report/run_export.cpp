#include "protogcd/report/run_export.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/text.h"
#include "protogcd/report/sprites.h"
#include "protogcd/run/run_files.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;

/// What is said of an image, in both tables.
const std::vector<std::string> kFacts = {"predicted",  "is_new",        "truth",     "confidence",
                                         "typicality", "outlier_score", "is_outlier"};

std::string name_of_truth(const RunContents& run, std::size_t image) {
  const std::int32_t truth = run.images.truth[image];
  return truth < 0 ? "" : run.embeddings->truth_names[static_cast<std::size_t>(truth)];
}

std::vector<std::string> facts_of(const RunContents& run, std::size_t image) {
  const RunImages& images = run.images;
  const auto label = static_cast<std::size_t>(images.label[image]);
  return {run.classes[label],
          images.is_new[image] ? "1" : "0",
          name_of_truth(run, image),
          fmt::format("{}", images.confidence[image]),
          fmt::format("{}", images.typicality[image]),
          fmt::format("{}", images.outlier_score[image]),
          images.is_outlier[image] ? "1" : "0"};
}

/// Looked at for every row; a file that was begun does not appear.
void stop_if_interrupted(const Context& context) {
  if (context.interrupted()) throw InterruptedError("stopped while tables were written");
}

void write_images(const RunContents& run, const FeatureMap& map, const fs::path& file,
                  const Context& context) {
  std::vector<std::string> header = {"filepath"};
  header.insert(header.end(), kFacts.begin(), kFacts.end());
  header.insert(header.end(), {"split", "x_before", "y_before", "x_after", "y_after"});
  std::vector<std::size_t> place(run.images.path.size(), run.images.path.size());
  for (std::size_t i = 0; i < run.embeddings->rows.size(); ++i)
    place[static_cast<std::size_t>(run.embeddings->rows[i])] = i;
  CsvWriter table(file, header);
  for (std::size_t image = 0; image < run.images.path.size(); ++image) {
    stop_if_interrupted(context);
    std::vector<std::string> row = {fs::absolute(run.files()[image]).lexically_normal().string()};
    const auto facts = facts_of(run, image);
    row.insert(row.end(), facts.begin(), facts.end());
    row.emplace_back("unlabelled");
    const std::size_t at = place[image];
    const bool on_map = at < run.embeddings->rows.size();
    for (const auto* points : {&map.before, &map.after}) {
      for (std::size_t axis = 0; axis < 2; ++axis)
        row.push_back(on_map ? fmt::format("{:.4f}", (*points)[2 * at + axis]) : "");
    }
    table.row(row);
  }
  table.commit();
}

void write_tensor(std::span<const float> values, std::size_t width, const fs::path& file,
                  const Context& context) {
  AtomicFile out(file);
  std::string line;
  for (std::size_t first = 0; first < values.size(); first += width) {
    stop_if_interrupted(context);
    line.clear();
    for (std::size_t d = 0; d < width; ++d)
      line += fmt::format("{}{:.5g}", d > 0 ? "\t" : "", values[first + d]);
    out.write(line + "\n");
  }
  out.commit();
}

void write_metadata(const RunContents& run, const fs::path& file, const Context& context) {
  AtomicFile out(file);
  out.write(fmt::format("{}\tpath\n", join(kFacts, "\t")));
  for (const std::int64_t row : run.embeddings->rows) {
    stop_if_interrupted(context);
    const auto image = static_cast<std::size_t>(row);
    std::vector<std::string> fields = facts_of(run, image);
    fields.push_back(run.images.path[image]);
    for (std::string& field : fields) field = tsv_field(field);
    out.write(fmt::format("{}\n", join(fields, "\t")));
  }
  out.commit();
}

/// The most that TensorBoard shows is 8192 pixels along each side.
int sprite_side(std::size_t images) {
  constexpr int kMostPixels = 8192, kLargest = 64;
  const int columns = static_cast<int>(std::ceil(std::sqrt(static_cast<double>(images))));
  return std::clamp(kMostPixels / std::max(columns, 1), 1, kLargest);
}

void write_files(const RunContents& run, const FeatureMap& map, const fs::path& folder,
                 const Context& context) {
  const Embeddings& embeddings = *run.embeddings;
  write_images(run, map, folder / "images.csv", context);
  write_tensor(embeddings.before, embeddings.width, folder / "before.tsv", context);
  write_tensor(embeddings.after, embeddings.width, folder / "after.tsv", context);
  write_metadata(run, folder / "metadata.tsv", context);
  std::vector<fs::path> files;
  for (const std::int64_t row : embeddings.rows)
    files.push_back(run.files()[static_cast<std::size_t>(row)]);
  const int side = sprite_side(files.size());
  write_file_atomically(folder / "sprites.jpg", square_sheet(files, side, context));
  std::string config;
  for (const char* name : {"after", "before"}) {
    config += fmt::format(
        "embeddings {{\n  tensor_name: \"features {} training\"\n  tensor_path: \"{}.tsv\"\n"
        "  tensor_shape: {}\n  tensor_shape: {}\n  metadata_path: \"metadata.tsv\"\n"
        "  sprite {{\n    image_path: \"sprites.jpg\"\n    single_image_dim: {}\n"
        "    single_image_dim: {}\n  }}\n}}\n",
        name, name, embeddings.rows.size(), embeddings.width, side, side);
  }
  write_file_atomically(folder / "projector_config.pbtxt", config);
}

}  // namespace

std::string tsv_field(std::string_view text) {
  const nlohmann::json quoted(text);
  std::string field =
      parse_json(quoted.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  for (char& c : field)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return field;
}

void export_run(const RunContents& run, const FeatureMap& map, const fs::path& folder,
                const Context& context) {
  if (!run.embeddings) {
    throw UsageError(fmt::format("{}: there is no {} in it, so there is nothing to export",
                                 run.folder.string(), run_files::kEmbeddings),
                     "runs of older versions and runs without unlabelled images have none");
  }
  create_folders(folder);
  try {
    write_files(run, map, folder, context);
  } catch (const InterruptedError& error) {
    throw InterruptedError(
        fmt::format("{}; the export in {} is not complete", error.marked(), folder.string()),
        fmt::format("make it again with {}", option_name("overwrite")));
  }
}

}  // namespace protogcd
