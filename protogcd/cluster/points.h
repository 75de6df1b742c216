// The rows that are clustered, made ready once for any number of fits: checked, moved to their mean
// (distances stay, and float32 keeps more of their digits), with what the distances need.
//
// Several processes may have a part of the rows each, in the order of their ranks: what is summed
// is then summed over all of them, and all do the same calls.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "protogcd/cluster/int8_rows.h"
#include "protogcd/nn/communicator.h"

namespace protogcd {

/// DataError unless these are rows of finite numbers [N, D] in float32 or float64, none longer than
/// 1e15; it names the row.
void check_features(const at::Tensor& features, const std::string& name);

class Points {
 public:
  /// features [N, D], float32 or float64, on the CPU or a GPU; where they are is where the work is
  /// done. `name` stands for them in messages. DataError where there is no row or no column, or a
  /// number that is not finite or beyond 1e15 (its square would not be).
  explicit Points(const at::Tensor& features, std::string name = "features",
                  std::shared_ptr<Communicator> team = std::make_shared<SingleProcess>());

  std::int64_t size() const { return rows_.size(0); }  ///< of this process
  std::int64_t total() const { return total_; }        ///< of all processes
  std::int64_t width() const { return rows_.size(1); }
  const std::string& name() const { return name_; }
  Communicator& team() const { return *team_; }
  bool shared() const { return team_->size() > 1; }
  /// Sums over all processes.
  at::Tensor over_all(at::Tensor own) const;
  double over_all(double own) const;
  /// The first process's number: what is decided by it is decided alike, whatever the machines.
  double of_first(double own) const;
  std::int64_t over_all(std::int64_t own) const;

  const at::Tensor& rows() const { return rows_; }                    ///< [N, D], mean removed
  const at::Tensor& mean() const { return mean_; }                    ///< [D]
  const at::Tensor& squared_norms() const { return squared_norms_; }  ///< [N]
  /// Mean of the variances of the columns: what a tolerance is relative to.
  double mean_variance() const { return mean_variance_; }
  /// Present where the CPU multiplies int8.
  const Int8Rows* rounded() const { return rounded_ ? &*rounded_ : nullptr; }

  /// Squared distances of all rows to each of columns [C, D] (mean removed) -> [C, N]; of rounded
  /// rows and columns where there are such, which is near enough for drawing lots.
  at::Tensor squared_distances(const at::Tensor& columns) const;

 private:
  void centre(const at::Tensor& features);
  void centre_on_cpu(const at::Tensor& features);

  std::string name_;
  std::shared_ptr<Communicator> team_;
  std::int64_t total_;
  at::Tensor rows_, mean_, squared_norms_;
  double mean_variance_ = 0;
  std::optional<Int8Rows> rounded_;
};

/// Squared distances to the rows' own centroids, centroids [K, D] (mean removed), labels [N] int64
/// -> [N] float64. By differences, so that small distances are exact.
at::Tensor own_distances(const Points& points, const at::Tensor& centroids,
                         const at::Tensor& labels);

}  // namespace protogcd
