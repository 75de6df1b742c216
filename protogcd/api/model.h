// Public: a trained model, from the folder of a finished run.
//
//   const protogcd::Model model = protogcd::Model::load("run");
//   for (const protogcd::PredictedImage& image : model.predict({"a.jpg", "b.jpg"}).images)
//     std::cout << image.path << ": " << image.class_name << "\n";
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "protogcd/core/context.h"
#include "protogcd/run/predictions_table.h"

namespace protogcd {

class TrainedModel;

/// An image that could not be read, and why.
struct UnreadImage {
  std::string path, reason;
};

/// An image that lies in no file of its own; what it points at must outlive the call.
struct ImageInMemory {
  std::string name;                           ///< in results and messages
  std::span<const std::byte> encoded = {};    ///< what an image file holds; or
  std::span<const std::uint8_t> pixels = {};  ///< RGB [height, width, 3]
  int width = 0, height = 0;
};

/// Those that could be read, in the order of the list.
struct PredictedImages {
  std::vector<PredictedImage> images;
  std::vector<std::size_t> positions;  ///< of each in the list
  std::vector<float> probabilities;    ///< [n, K], where they were asked for
  std::vector<UnreadImage> unread;
};

struct EmbeddedImages {
  std::vector<std::string> paths;
  std::vector<std::size_t> positions;  ///< of each in the list
  std::int64_t width = 0;              ///< D
  std::vector<float> values;  ///< [n, D] row by row: unit vectors, as the trained blocks give them
  std::vector<UnreadImage> unread;
};

class Model {
 public:
  /// `backbone` says where the backbone's file is now, if it was moved. ModelFileError where
  /// something is missing or damaged. The context (device, threads, log, stop) is the model's from
  /// then on.
  static Model load(const std::filesystem::path& run, const Context& context = {},
                    const std::filesystem::path& backbone = {});
  ~Model();
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;

  const std::vector<std::string>& classes() const;  ///< the old ones, then the new
  std::int64_t old_classes() const;

  PredictedImages predict(const std::vector<std::filesystem::path>& images,
                          bool probabilities = false) const;
  PredictedImages predict(std::span<const ImageInMemory> images, bool probabilities = false) const;
  /// Every image below a folder.
  PredictedImages predict_folder(const std::filesystem::path& folder,
                                 bool probabilities = false) const;
  EmbeddedImages embed(const std::vector<std::filesystem::path>& images) const;
  EmbeddedImages embed(std::span<const ImageInMemory> images) const;

  /// Log, progress and stop of the calls that follow.
  void speak_to(const Context& host);

 private:
  Model(std::unique_ptr<const TrainedModel> model, const Context& context);

  std::unique_ptr<const TrainedModel> model_;
  Context context_;
};

}  // namespace protogcd
