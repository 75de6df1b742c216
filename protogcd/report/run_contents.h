// What a finished run left in its folder, as pages and exports need it: no libtorch, no backbone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "protogcd/run/moved_images.h"

namespace protogcd {

/// The unlabelled images, as predictions.csv lists them.
struct RunImages {
  std::vector<std::string> path;  ///< relative to the run's folder, or absolute
  std::vector<std::int32_t> label, truth;
  std::vector<double> confidence, typicality, outlier_score;
  std::vector<bool> is_new, is_outlier;
  std::size_t likeliest = 0;  ///< classes that are told of each image; older runs tell none
  std::vector<std::int32_t> likely_class;  ///< [N, likeliest], the most probable first
  std::vector<double> probability;         ///< of these
};

/// label-next.csv: what a person should label next, and why.
struct QueueEntry {
  std::size_t image;
  std::string why;
};

/// embeddings.safetensors: directions of some of the images, and hidden truths of all.
struct Embeddings {
  std::vector<std::int64_t> rows;                ///< [n]: which images
  std::vector<float> before, after, prototypes;  ///< [n, D], [n, D], [K, D]
  std::vector<std::int32_t> truths;              ///< [N]
  std::vector<std::string> truth_names;
  std::size_t width = 0;
};

/// attention.safetensors: where the model looks on a few images (discovery/report_files.h).
struct AttentionMaps {
  std::vector<std::int64_t> images;                ///< [n]: which
  std::size_t side = 0;                            ///< S
  std::size_t heads = 0, rows = 0, columns = 0;    ///< of a map
  std::vector<std::uint8_t> views, before, after;  ///< [n, S, S, 3], [n, heads, rows, columns]
};

/// The parts of a run's folder that all need.
struct RunContents {
  std::filesystem::path folder;
  std::vector<std::string> classes;
  RunImages images;
  std::optional<Embeddings> embeddings;
  std::optional<AttentionMaps> attention;  ///< older runs have none, nor
  std::vector<QueueEntry> queue;           ///< these

  LocatedImages located;              ///< where the images lie
  std::filesystem::path images_root;  ///< where moved ones were looked for
  const std::vector<std::filesystem::path>& files() const { return located.files; }
  bool has_truth() const;
};

/// ModelFileError or DataError names what is missing or wrong. Images that are no longer where they
/// were are looked for below `images_root`, where one is given (moved_images.h).
RunContents read_run(const std::filesystem::path& folder,
                     const std::filesystem::path& images_root = {});

/// Hands on what a JSON file holds. ModelFileError names the file where it is no JSON, or where
/// `use` finds a key missing or of another type.
void use_json_file(const std::filesystem::path& file,
                   const std::function<void(const nlohmann::json&)>& use);

}  // namespace protogcd
