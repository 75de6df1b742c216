#include "protogcd/discovery/near_duplicates.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "protogcd/core/error.h"

namespace protogcd {
namespace {

// Set by the demo collection and AID; how others fare: docs/findings.md.
constexpr double kSamePicture = 0.98;
constexpr double kPlain = 2;  // levels of grey, as a standard deviation
constexpr std::int64_t kComparedAtOnce = 256;

/// Unit rows without their means, [n, 256]: products are correlations. Zero for a plain colour.
at::Tensor thumbnail_rows(std::span<const ImageLook> looks) {
  constexpr std::int64_t kPixels = ImageLook::kThumbnail * ImageLook::kThumbnail;
  at::Tensor rows = at::zeros({static_cast<std::int64_t>(looks.size()), kPixels}, at::kFloat);
  auto* row = rows.data_ptr<float>();
  for (const ImageLook& look : looks) {
    double sum = 0, squares = 0;
    for (const std::uint8_t value : look.thumbnail) sum += value;
    const double mean = sum / kPixels;
    for (const std::uint8_t value : look.thumbnail) squares += (value - mean) * (value - mean);
    if (squares >= kPlain * kPlain * kPixels) {
      std::ranges::transform(look.thumbnail, row, [&](std::uint8_t value) {
        return static_cast<float>((value - mean) / std::sqrt(squares));
      });
    }
    row += kPixels;
  }
  return rows;
}

/// The images that are the first of their picture, and how others are compared with them.
class Firsts {
 public:
  explicit Firsts(const at::Tensor& rows) : all_(rows), firsts_(at::empty_like(rows)) {}

  /// The images [begin, end) beside all before them and beside each other.
  void compare(std::int64_t begin, std::int64_t end, std::vector<NearDuplicate>& found) {
    const at::Tensor asked = all_.slice(0, begin, end);
    const std::int64_t count = end - begin, known = static_cast<std::int64_t>(images_.size());
    at::Tensor best = at::full({count}, -1.0, at::kFloat), which = at::zeros({count}, at::kLong);
    if (known > 0) {
      std::tie(best, which) = at::matmul(asked, firsts_.slice(0, 0, known).t()).max(1);
    }
    const at::Tensor among = at::matmul(asked, asked.t()).contiguous();
    const auto correlation = among.accessor<float, 2>();
    const auto* before = best.const_data_ptr<float>();
    const auto* place = which.const_data_ptr<std::int64_t>();
    std::vector<std::int64_t> new_ones;
    for (std::int64_t i = 0; i < count; ++i) {
      double most = before[i];
      std::int64_t first = known > 0 ? images_[static_cast<std::size_t>(place[i])] : 0;
      for (const std::int64_t other : new_ones) {
        if (correlation[i][other] <= most) continue;
        most = correlation[i][other];
        first = begin + other;
      }
      if (most >= kSamePicture) {
        found.push_back({.image = static_cast<std::size_t>(begin + i),
                         .first = static_cast<std::size_t>(first),
                         .correlation = std::min(most, 1.0)});
      } else {
        new_ones.push_back(i);
      }
    }
    for (const std::int64_t one : new_ones) {
      firsts_[static_cast<std::int64_t>(images_.size())].copy_(asked[one]);
      images_.push_back(begin + one);
    }
  }

 private:
  at::Tensor all_, firsts_;           ///< [N, 256], of which the first rows are filled
  std::vector<std::int64_t> images_;  ///< which they are
};

}  // namespace

std::optional<std::vector<NearDuplicate>> near_duplicates(std::span<const ImageLook> looks,
                                                          const Context& context) {
  if (looks.size() > kMostCompared) return std::nullopt;
  std::vector<NearDuplicate> found;
  Firsts firsts(thumbnail_rows(looks));
  const auto count = static_cast<std::int64_t>(looks.size());
  for (std::int64_t begin = 0; begin < count; begin += kComparedAtOnce) {
    if (context.interrupted()) throw InterruptedError("stopped while images were compared");
    firsts.compare(begin, std::min(count, begin + kComparedAtOnce), found);
  }
  return found;
}

}  // namespace protogcd
