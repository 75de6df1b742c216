#include "protogcd/analysis/von_mises_fisher.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace protogcd {
namespace {

/// log I_order(x) by its power series, whose terms are all positive:
/// sum over m of (x/2)^(2m + order) / (m! Gamma(m + order + 1)).
/// The terms rise and then fall, so they are added up relative to the largest, outwards from it.
double log_bessel_i(double order, double x) {
  const double quarter = x * x / 4;
  // Term m+1 over term m is quarter / ((m+1)(m+1+order)): 1 at the largest term.
  const double peak =
      std::max(0.0, std::floor((std::sqrt(order * order + 4 * quarter) - order) / 2));
  constexpr double kNegligible = 1e-18;
  double sum = 1;
  for (double m = peak, term = 1; term > kNegligible; ++m) {
    term *= quarter / ((m + 1) * (m + 1 + order));
    sum += term;
  }
  for (double m = peak, term = 1; m > 0 && term > kNegligible; --m) {
    term *= m * (m + order) / quarter;
    sum += term;
  }
  return (2 * peak + order) * std::log(x / 2) - std::lgamma(peak + 1) -
         std::lgamma(peak + order + 1) + std::log(sum);
}

}  // namespace

double vmf_log_normaliser(double concentration, std::int64_t dimension) {
  const double order = static_cast<double>(dimension) / 2 - 1;
  if (concentration <= 0) {
    return std::lgamma(order + 1) - std::log(2.0) - (order + 1) * std::log(std::numbers::pi);
  }
  return order * std::log(concentration) - (order + 1) * std::log(2 * std::numbers::pi) -
         log_bessel_i(order, concentration);
}

double vmf_mean_cosine(double concentration, std::int64_t dimension) {
  if (concentration <= 0) return 0;
  // The continued fraction of I_{v+1} / I_v, from its end: I_{v+n+1} / I_{v+n} is
  // 1 / (2 (v+n+1) / kappa + the next one). An error at the end shrinks by exp(-n^2 / kappa).
  const double order = static_cast<double>(dimension) / 2 - 1;
  double ratio = 0;
  for (double n = std::ceil(64 + 8 * std::sqrt(concentration)); n > 0; --n)
    ratio = 1 / (2 * (order + n) / concentration + ratio);
  return ratio;
}

double vmf_concentration(double mean_cosine, std::int64_t dimension) {
  if (!(mean_cosine > 0)) return 0;
  if (mean_cosine >= vmf_mean_cosine(kMaxConcentration, dimension)) return kMaxConcentration;
  const auto d = static_cast<double>(dimension);
  const double r = mean_cosine;
  // The closed form of Banerjee et al. (2005) is near; Newton's steps, with
  // A' = 1 - A^2 - A (D - 1) / kappa, make it exact (Sra 2012).
  double kappa = std::min(r * (d - r * r) / (1 - r * r), kMaxConcentration);
  for (int step = 0; step < 20; ++step) {
    const double a = vmf_mean_cosine(kappa, dimension);
    const double change = (a - r) / (1 - a * a - a * (d - 1) / kappa);
    kappa = std::clamp(kappa - change, kappa / 2, kMaxConcentration);
    if (std::abs(change) <= 1e-12 * kappa) break;
  }
  return kappa;
}

}  // namespace protogcd
