// Public. predictions.csv: what a model says about images, a row each.
//
//   path,class,is_new,confidence,typicality,outlier_score,is_outlier
//
// `is_outlier` is empty where the model has no threshold. A model that was begun several times adds
// `stability`, that of the class (found_classes.h). A run adds the likeliest classes, as `predict
// --probabilities 3` does (probability_columns.h). A file that ends in .json holds an array
// of objects with these keys instead; a path that is no UTF-8, which JSON cannot hold, has its
// bytes in `path_hex` beside it.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "protogcd/core/files.h"
#include "protogcd/run/probability_columns.h"

namespace protogcd {

struct PredictedImage {
  std::string path;  ///< absolute; other tables may have it relative to the file's folder
  std::string class_name;
  bool is_new = false;
  double confidence = 0, typicality = 0, outlier_score = 0;
  std::optional<bool> is_outlier = {};
  std::optional<double> stability = {};
};

/// Row by row; the file appears with `commit`.
class PredictionsTableWriter {
 public:
  explicit PredictionsTableWriter(const std::filesystem::path& file,
                                  ProbabilityColumns more_columns = {},
                                  bool tells_stability = false);
  /// `probabilities` of all classes, where there are columns for them.
  void row(const PredictedImage& image, std::span<const float> probabilities = {});
  void commit();

 private:
  const bool json_;
  bool empty_ = true;
  AtomicFile file_;
  const ProbabilityColumns more_columns_;
  const bool tells_stability_;
};

/// A table that was written. Files of others may lack columns: only what is asked for must be
/// there. Errors (DataError) name file and line.
class PredictionsTable {
 public:
  static PredictionsTable read(const std::filesystem::path& file);

  std::size_t size() const { return rows_.size(); }
  const std::string& name() const { return name_; }
  /// "predictions.csv:7", for messages about a row.
  std::string where(std::size_t row) const;

  const std::string& path(std::size_t row) const { return text(row, kPath); }
  const std::string& class_name(std::size_t row) const { return text(row, kClass); }
  bool is_new(std::size_t row) const { return text(row, kIsNew) == "1"; }
  double confidence(std::size_t row) const { return number(row, kConfidence); }
  bool has_typicality() const { return has_[kTypicality]; }
  double typicality(std::size_t row) const { return number(row, kTypicality); }
  double outlier_score(std::size_t row) const { return number(row, kOutlierScore); }
  bool is_outlier(std::size_t row) const { return text(row, kIsOutlier) == "1"; }
  /// How many of the likeliest classes a row names, at most three: columns class_1,p_1 and so on.
  std::size_t likeliest() const;
  const std::string& likely_class(std::size_t row, std::size_t place) const;
  double probability(std::size_t row, std::size_t place) const;

 private:
  enum Column {
    kPath,
    kClass,
    kIsNew,
    kConfidence,
    kTypicality,
    kOutlierScore,
    kIsOutlier,
    kClass1,
    kProbability1,
    kClass2,
    kProbability2,
    kClass3,
    kProbability3,
    kCount
  };
  struct Row {
    std::size_t line = 0;  ///< of a CSV; of JSON, which object, from 1
    std::array<std::string, kCount> fields;
  };

  void read_csv(const std::filesystem::path& file);
  void read_json(const std::filesystem::path& file);
  static Column likely_column(Column first, std::size_t place) {
    return static_cast<Column>(first + 2 * place);
  }
  const std::string& text(std::size_t row, Column column) const;
  double number(std::size_t row, Column column) const;

  std::string name_;
  bool json_ = false;
  std::array<bool, kCount> has_{};
  std::vector<std::string> header_;
  std::vector<Row> rows_;
};

}  // namespace protogcd
