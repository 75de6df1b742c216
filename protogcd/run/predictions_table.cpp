#include "protogcd/run/predictions_table.h"

#include <fmt/core.h>

#include <charconv>

#include "protogcd/core/csv.h"
#include "protogcd/core/error.h"
#include "protogcd/core/json.h"
#include "protogcd/core/sha256.h"
#include "protogcd/core/text.h"

namespace protogcd {
namespace {

constexpr std::array<const char*, 13> kColumns = {
    "path",          "class",      "is_new",  "confidence", "typicality",
    "outlier_score", "is_outlier", "class_1", "p_1",        "class_2",
    "p_2",           "class_3",    "p_3"};
constexpr std::size_t kAlways = 7;  // the others are there on request

bool is_json(const std::filesystem::path& file) {
  return file.extension() == ".json";
}

std::optional<std::string> bytes_of_hex(std::string_view digits) {
  std::string bytes;
  for (; digits.size() >= 2; digits.remove_prefix(2)) {
    std::uint8_t byte = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + 2, byte, 16);
    if (read.ptr != digits.data() + 2) return std::nullopt;
    bytes += static_cast<char>(byte);
  }
  return digits.empty() ? std::optional(bytes) : std::nullopt;
}

/// As a CSV has it.
std::string text_of(const nlohmann::json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
  if (value.is_string()) return value.get<std::string>();
  return value.is_null() ? std::string() : value.dump();
}

}  // namespace

PredictionsTableWriter::PredictionsTableWriter(const std::filesystem::path& file,
                                               ProbabilityColumns more_columns,
                                               bool tells_stability)
    : json_(is_json(file)),
      file_(file),
      more_columns_(std::move(more_columns)),
      tells_stability_(tells_stability) {
  file_.write(json_ ? std::string("[")
                    : fmt::format("{}{}{}\n", join(std::span(kColumns).first<kAlways>(), ","),
                                  tells_stability_ ? ",stability" : "", more_columns_.header()));
}

void PredictionsTableWriter::row(const PredictedImage& image,
                                 std::span<const float> probabilities) {
  if (!json_) {
    std::string stability;
    if (tells_stability_)
      stability = image.stability ? fmt::format(",{:.6f}", *image.stability) : ",";
    file_.write(fmt::format("{},{},{},{:.6f},{:.6f},{:.6f},{}{}{}\n", csv_field(image.path),
                            csv_field(image.class_name), image.is_new ? 1 : 0, image.confidence,
                            image.typicality, image.outlier_score,
                            !image.is_outlier   ? ""
                            : *image.is_outlier ? "1"
                                                : "0",
                            stability, more_columns_.fields(probabilities)));
    return;
  }
  nlohmann::ordered_json object = {{"path", image.path},
                                   {"class", image.class_name},
                                   {"is_new", image.is_new},
                                   {"confidence", image.confidence},
                                   {"typicality", image.typicality},
                                   {"outlier_score", image.outlier_score},
                                   {"is_outlier", nullptr}};
  if (image.is_outlier) object["is_outlier"] = *image.is_outlier;
  if (tells_stability_) object["stability"] = nullptr;
  if (image.stability) object["stability"] = *image.stability;
  more_columns_.add_to(object, probabilities);
  if (!is_utf8(image.path))
    object["path_hex"] =
        hexadecimal({reinterpret_cast<const std::uint8_t*>(image.path.data()), image.path.size()});
  file_.write(fmt::format("{}\n{}", empty_ ? "" : ",",
                          object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
  empty_ = false;
}

void PredictionsTableWriter::commit() {
  if (json_) file_.write("\n]\n");
  file_.commit();
}

PredictionsTable PredictionsTable::read(const std::filesystem::path& file) {
  static_assert(kColumns.size() == kCount);
  PredictionsTable table;
  table.name_ = file.string();
  table.json_ = is_json(file);
  table.json_ ? table.read_json(file) : table.read_csv(file);
  return table;
}

void PredictionsTable::read_csv(const std::filesystem::path& file) {
  const CsvTable csv = CsvTable::read(file);
  header_ = csv.header();
  std::array<std::size_t, kCount> places{};
  for (std::size_t column = 0; column < kCount; ++column) {
    const auto place = csv.find_column(kColumns[column]);
    has_[column] = place.has_value();
    places[column] = place.value_or(0);
  }
  for (const CsvRow& row : csv.rows()) {
    Row& own = rows_.emplace_back(Row{.line = row.line, .fields = {}});
    for (std::size_t column = 0; column < kCount; ++column) {
      if (has_[column]) own.fields[column] = row.fields[places[column]];
    }
  }
}

void PredictionsTable::read_json(const std::filesystem::path& file) {
  try {
    const auto objects = parse_json(read_text_file(file));
    if (!objects.is_array()) throw DataError(fmt::format("{}: no array of objects", name_));
    for (const auto& object : objects) {
      Row& own = rows_.emplace_back(Row{.line = rows_.size() + 1, .fields = {}});
      for (std::size_t column = 0; column < kCount; ++column) {
        const auto value = object.find(kColumns[column]);
        if (value == object.end()) continue;
        if (!has_[column]) header_.emplace_back(kColumns[column]);
        has_[column] = true;
        own.fields[column] = text_of(*value);
      }
      if (!object.contains("path_hex")) continue;
      const auto path = bytes_of_hex(object.at("path_hex").get<std::string>());
      if (!path) throw DataError(fmt::format("{}: no path_hex", where(rows_.size() - 1)));
      own.fields[kPath] = *path;
    }
  } catch (const nlohmann::json::exception& error) {
    throw DataError(fmt::format("{}: {}", name_, error.what()));
  }
}

std::string PredictionsTable::where(std::size_t row) const {
  return fmt::format("{}{}{}", name_, json_ ? ": object " : ":", rows_[row].line);
}

const std::string& PredictionsTable::text(std::size_t row, Column column) const {
  if (!has_[column]) {
    throw DataError(fmt::format("{}:1: no column '{}' (there are: {})", name_, kColumns[column],
                                join(header_, ", ")));
  }
  return rows_[row].fields[column];
}

std::size_t PredictionsTable::likeliest() const {
  std::size_t count = 0;
  while (count < 3 && has_[likely_column(kClass1, count)] &&
         has_[likely_column(kProbability1, count)])
    ++count;
  return count;
}

const std::string& PredictionsTable::likely_class(std::size_t row, std::size_t place) const {
  return text(row, likely_column(kClass1, place));
}

double PredictionsTable::probability(std::size_t row, std::size_t place) const {
  return number(row, likely_column(kProbability1, place));
}

double PredictionsTable::number(std::size_t row, Column column) const {
  const std::string& value = text(row, column);
  const auto parsed = parse_real(value);
  if (!parsed) {
    throw DataError(
        fmt::format("{}: {} '{}' is not a number", where(row), kColumns[column], value));
  }
  return *parsed;
}

}  // namespace protogcd
