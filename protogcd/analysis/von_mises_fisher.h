// The von Mises-Fisher distribution: the Gaussian of the unit sphere, with a mean direction and a
// concentration kappa. Its density at cosine t to the mean direction is C_D(kappa) exp(kappa t),
//   C_D(kappa) = kappa^v / ((2 pi)^(v+1) I_v(kappa)),  v = D/2 - 1.
#pragma once

#include <cstdint>

namespace protogcd {

/// log C_D(kappa), for D of at least 2. kappa = 0: the uniform density.
double vmf_log_normaliser(double concentration, std::int64_t dimension);

/// The expected cosine to the mean direction, A_D(kappa) = I_{v+1}(kappa) / I_v(kappa).
double vmf_mean_cosine(double concentration, std::int64_t dimension);

/// The concentration most likely to give this mean cosine to a known direction: the solution of
/// A_D(kappa) = mean_cosine. 0 where the mean is not positive; never above kMaxConcentration.
double vmf_concentration(double mean_cosine, std::int64_t dimension);

constexpr double kMaxConcentration = 1e5;

}  // namespace protogcd
