// CIFAR-C and SVHN: the sets that test a trained model away from its data.
#include <fmt/core.h>

#include "protogcd/core/error.h"
#include "protogcd/core/npy.h"
#include "protogcd/data/cifar.h"
#include "protogcd/data/matlab.h"
#include "protogcd/image/corrupt/corruption.h"

namespace protogcd {

std::shared_ptr<const RecordFile> open_cifar_c(const std::filesystem::path& root,
                                               std::string_view corruption, int severity) {
  check_corruption_severity(severity);
  const auto path = root / fmt::format("{}.npy", find_corruption(corruption).name);
  auto pixels = std::make_shared<NpyFile>(path);
  const TensorEntry& array = pixels->array();
  if (array.type != ElementType::kUint8 || array.shape.size() != 4 || array.shape[3] != 3 ||
      array.shape[0] % kCorruptionSeverities != 0 || array.shape[1] > 4096 ||
      array.shape[2] > 4096) {
    throw DataError(fmt::format("{}: {} {}, expected uint8 [50000, 32, 32, 3]", path.string(),
                                element_name(array.type), array.shape_text()));
  }
  const NpyFile labels(root / "labels.npy");
  auto file = std::make_shared<RecordFile>();
  file->path = path;
  file->bytes = array.bytes;
  file->owner = pixels;
  file->height = static_cast<int>(array.shape[1]);
  file->width = static_cast<int>(array.shape[2]);
  file->count = static_cast<std::size_t>(array.shape[0]) / kCorruptionSeverities;
  file->column_stride = 3;
  file->row_stride = 3 * static_cast<std::size_t>(file->width);
  file->record_stride = file->row_stride * static_cast<std::size_t>(file->height);
  file->channel_stride = 1;
  const std::size_t first = file->count * static_cast<std::size_t>(severity - 1);
  file->first = first * file->record_stride;
  const auto all_labels = labels.integers();
  if (all_labels.size() != static_cast<std::size_t>(array.shape[0])) {
    throw DataError(fmt::format("{}: {} labels for {} images of {}", labels.array().name,
                                all_labels.size(), array.shape[0], path.string()));
  }
  for (std::size_t i = 0; i < file->count; ++i) {
    file->labels.push_back(static_cast<std::int32_t>(all_labels[first + i]));
  }
  file->check();
  return file;
}

std::shared_ptr<const RecordFile> open_svhn(const std::filesystem::path& root) {
  const auto path = root / "test_32x32.mat";
  const MatlabFile mat(path);
  const MatlabArray &pixels = mat.at("X"), &labels = mat.at("y");
  const auto& sizes = pixels.dimensions;
  // MATLAB drops a trailing dimension of size one, so a single image has three dimensions.
  const std::size_t count = sizes.size() == 4 ? sizes[3] : 1;
  if (sizes.size() < 3 || sizes.size() > 4 || sizes[2] != 3 || sizes[0] > 4096 || sizes[1] > 4096 ||
      pixels.bytes.size() != pixels.element_count()) {
    throw DataError(fmt::format("{}: array 'X' is not uint8 [32, 32, 3, N]", path.string()));
  }
  auto file = std::make_shared<RecordFile>();
  file->path = path;
  file->bytes = pixels.bytes;
  file->owner = mat.storage();
  file->height = static_cast<int>(sizes[0]);
  file->width = static_cast<int>(sizes[1]);
  file->count = count;
  file->row_stride = 1;
  file->column_stride = sizes[0];
  file->channel_stride = sizes[0] * sizes[1];
  file->record_stride = 3 * file->channel_stride;
  const std::size_t label_count = std::max(labels.bytes.size(), labels.numbers.size());
  for (std::size_t i = 0; i < label_count; ++i) {
    const double label =
        labels.bytes.empty() ? labels.numbers[i] : std::to_integer<int>(labels.bytes[i]);
    if (!(label >= 1 && label <= 10)) {
      throw DataError(fmt::format("{}: array 'y': record {} has label {}, expected 1 to 10",
                                  path.string(), i, label));
    }
    file->labels.push_back(static_cast<std::int32_t>(label) % 10);
  }
  file->check();
  return file;
}

}  // namespace protogcd
