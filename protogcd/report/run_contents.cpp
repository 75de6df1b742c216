#include "protogcd/report/run_contents.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/safetensors.h"
#include "protogcd/core/text.h"
#include "protogcd/run/label_next.h"
#include "protogcd/run/predictions_table.h"
#include "protogcd/run/run_files.h"

namespace protogcd {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

RunImages read_predictions(const fs::path& file, const std::vector<std::string>& classes) {
  const PredictionsTable table = PredictionsTable::read(file);
  std::map<std::string, std::int32_t> numbers;
  for (std::size_t k = 0; k < classes.size(); ++k)
    numbers[classes[k]] = static_cast<std::int32_t>(k);
  RunImages images;
  images.likeliest = table.likeliest();
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto number_of = [&](const std::string& name) {
      const auto number = numbers.find(name);
      if (number == numbers.end()) {
        throw DataError(
            fmt::format("{}: class '{}' is not one of the model's", table.where(i), name));
      }
      return number->second;
    };
    images.path.push_back(table.path(i));
    images.label.push_back(number_of(table.class_name(i)));
    for (std::size_t place = 0; place < images.likeliest; ++place) {
      images.likely_class.push_back(number_of(table.likely_class(i, place)));
      images.probability.push_back(table.probability(i, place));
    }
    images.confidence.push_back(table.confidence(i));
    images.typicality.push_back(table.typicality(i));
    images.outlier_score.push_back(table.outlier_score(i));
    images.is_new.push_back(table.is_new(i));
    images.is_outlier.push_back(table.is_outlier(i));
  }
  images.truth.assign(images.path.size(), -1);
  return images;
}

std::vector<QueueEntry> read_queue(const fs::path& file, const RunImages& images) {
  std::vector<QueueEntry> queue;
  if (!fs::exists(file)) return queue;
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < images.path.size(); ++i) places[images.path[i]] = i;
  for (const LabelNext& next : read_label_next(file)) {
    const auto place = places.find(next.path);
    if (place == places.end()) {
      throw DataError(
          fmt::format("{}: '{}' is not among the run's predictions", file.string(), next.path));
    }
    queue.push_back({place->second, next.why});
  }
  return queue;
}

float half_to_float(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000u) << 16, exponent = (half >> 10) & 31u,
                      fraction = half & 1023u;
  if (exponent == 0) {
    const float value = std::ldexp(static_cast<float>(fraction), -24);
    return sign ? -value : value;
  }
  const std::uint32_t large = exponent == 31 ? 255u : exponent + 112;
  return std::bit_cast<float>(sign | large << 23 | fraction << 13);
}

template <class T>
std::vector<T> values_of(const TensorEntry& entry, const fs::path& file) {
  if (entry.bytes.size() != entry.element_count() * sizeof(T))
    throw ModelFileError(fmt::format("{}: '{}' has another type", file.string(), entry.name));
  std::vector<T> values(entry.element_count());
  std::ranges::copy(entry.bytes, std::as_writable_bytes(std::span(values)).begin());
  return values;
}

std::optional<Embeddings> read_embeddings(const fs::path& file, std::size_t images,
                                          std::size_t classes) {
  if (!fs::exists(file)) return std::nullopt;
  const SafetensorsFile stored(file);
  Embeddings result;
  const auto halves = [&](const char* name) {
    std::vector<float> values;
    for (const std::uint16_t half : values_of<std::uint16_t>(stored.at(name), file))
      values.push_back(half_to_float(half));
    return values;
  };
  result.rows = values_of<std::int64_t>(stored.at("rows"), file);
  result.before = halves("before");
  result.after = halves("after");
  result.prototypes = values_of<float>(stored.at("prototypes"), file);
  result.truths = values_of<std::int32_t>(stored.at("truths"), file);
  try {
    result.truth_names =
        parse_json(stored.metadata().at("classes")).get<std::vector<std::string>>();
  } catch (const std::exception& error) {
    throw ModelFileError(fmt::format("{}: classes: {}", file.string(), error.what()));
  }
  result.width = classes > 0 ? result.prototypes.size() / classes : 0;
  const auto last = static_cast<std::int64_t>(images);
  const bool fits =
      result.width > 0 && result.prototypes.size() == classes * result.width &&
      result.truths.size() == images && result.after.size() == result.rows.size() * result.width &&
      result.before.size() == result.after.size() &&
      std::ranges::all_of(result.rows, [&](std::int64_t row) { return row >= 0 && row < last; }) &&
      std::ranges::all_of(result.truths, [&](std::int32_t truth) {
        return truth < static_cast<std::int32_t>(result.truth_names.size());
      });
  if (!fits) {
    throw ModelFileError(
        fmt::format("{}: does not fit to the run's predictions and model", file.string()));
  }
  for (const auto* values : {&result.before, &result.after, &result.prototypes}) {
    if (!std::ranges::all_of(*values, [](float value) { return std::isfinite(value); }))
      throw ModelFileError(fmt::format("{}: holds a number that is not finite", file.string()));
  }
  return result;
}

/// The page has the views below each other in one JPEG file, whose sides may have 65,500 pixels.
constexpr std::size_t kMostViewPixels = 65500;

std::optional<AttentionMaps> read_attention(const fs::path& file, std::size_t images) {
  if (!fs::exists(file)) return std::nullopt;
  const SafetensorsFile stored(file);
  const TensorEntry &views = stored.at("views"), &maps = stored.at("before");
  const auto size = [](const TensorEntry& entry, std::size_t axis) {
    return static_cast<std::size_t>(entry.shape[axis]);
  };
  AttentionMaps result;
  result.images = values_of<std::int64_t>(stored.at("rows"), file);
  const std::size_t n = result.images.size();
  const auto last = static_cast<std::int64_t>(images);
  const bool fits =
      views.shape.size() == 4 && maps.shape.size() == 4 && stored.at("after").shape == maps.shape &&
      size(views, 0) == n && size(maps, 0) == n && views.shape[1] == views.shape[2] &&
      views.shape[3] == 3 && views.element_count() > 0 && maps.element_count() > 0 &&
      std::ranges::all_of(result.images, [&](std::int64_t i) { return i >= 0 && i < last; });
  if (!fits)
    throw ModelFileError(fmt::format("{}: does not fit to the run's predictions", file.string()));
  result.side = size(views, 1);
  if (result.side > kMostViewPixels / n) {
    throw ModelFileError(fmt::format("{}: {} views of {} pixels are more than one picture holds",
                                     file.string(), n, result.side));
  }
  result.heads = size(maps, 1);
  result.rows = size(maps, 2);
  result.columns = size(maps, 3);
  result.views = values_of<std::uint8_t>(views, file);
  result.before = values_of<std::uint8_t>(maps, file);
  result.after = values_of<std::uint8_t>(stored.at("after"), file);
  return result;
}

}  // namespace

void use_json_file(const fs::path& file, const std::function<void(const Json&)>& use) {
  try {
    use(parse_json(read_text_file(file)));
  } catch (const Json::exception& error) {
    throw ModelFileError(fmt::format("{}: {}", file.string(), error.what()));
  }
}

bool RunContents::has_truth() const {
  return std::ranges::any_of(images.truth, [](std::int32_t truth) { return truth >= 0; });
}

RunContents read_run(const fs::path& folder, const fs::path& images_root) {
  const fs::path model_file = fs::path(run_files::kModel) / run_files::kModelInfo;
  for (const fs::path& name :
       {fs::path(run_files::kResult), fs::path(run_files::kPredictions), model_file}) {
    if (!fs::exists(folder / name)) {
      throw ModelFileError(fmt::format("{}: there is no {} in it", folder.string(), name.string()),
                           "a report needs the folder of a finished run");
    }
  }
  RunContents run;
  run.folder = folder;
  use_json_file(folder / model_file, [&](const Json& model) {
    run.classes = model.at("classes").get<std::vector<std::string>>();
  });
  run.images = read_predictions(folder / run_files::kPredictions, run.classes);
  run.embeddings =
      read_embeddings(folder / run_files::kEmbeddings, run.images.path.size(), run.classes.size());
  run.attention = read_attention(folder / run_files::kAttention, run.images.path.size());
  run.queue = read_queue(folder / run_files::kLabelNext, run.images);
  if (run.embeddings) run.images.truth = run.embeddings->truths;
  std::vector<fs::path> files;
  for (const std::string& path : run.images.path)
    files.push_back((folder / path).lexically_normal());
  run.located = locate_images(files, images_root);
  run.images_root = images_root;
  return run;
}

}  // namespace protogcd
