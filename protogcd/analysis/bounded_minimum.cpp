#include "protogcd/analysis/bounded_minimum.h"

#include <algorithm>
#include <cmath>

namespace protogcd {
namespace {

constexpr double kSqrtEpsilon = 1.4832396974191326e-08;

struct Probe {
  double place = 0, value = 0;
};

/// The step from the best place to the least of the parabola through three places, as p / q.
struct ParabolaStep {
  double p, q;

  ParabolaStep(const Probe& best, const Probe& second, const Probe& third) {
    const double r = (best.place - second.place) * (best.value - third.value);
    const double s = (best.place - third.place) * (best.value - second.value);
    p = (best.place - third.place) * s - (best.place - second.place) * r;
    q = 2 * (s - r);
    if (q > 0) p = -p;
    q = std::abs(q);
  }
};

}  // namespace

double bounded_minimum(const std::function<double(double)>& function, const BoundedSearch& search) {
  const double golden = 0.5 * (3 - std::sqrt(5.0));
  double low = search.low, high = search.high;
  const double start = low + golden * (high - low);
  Probe best{start, function(start)}, second = best, third = best;
  double step = 0, step_before = 0;
  for (int evaluations = 1; evaluations < search.most_evaluations; ++evaluations) {
    const double middle = 0.5 * (low + high);
    const double tolerance = kSqrtEpsilon * std::abs(best.place) + search.tolerance / 3;
    if (std::abs(best.place - middle) <= 2 * tolerance - 0.5 * (high - low)) break;

    bool take_golden = true;
    if (std::abs(step_before) > tolerance) {
      const ParabolaStep parabola(best, second, third);
      const double before = step_before;
      step_before = step;
      if (std::abs(parabola.p) < std::abs(0.5 * parabola.q * before) &&
          parabola.p > parabola.q * (low - best.place) &&
          parabola.p < parabola.q * (high - best.place)) {
        step = parabola.p / parabola.q;
        const double place = best.place + step;
        if (place - low < 2 * tolerance || high - place < 2 * tolerance)
          step = middle >= best.place ? tolerance : -tolerance;
        take_golden = false;
      }
    }
    if (take_golden) {
      step_before = best.place >= middle ? low - best.place : high - best.place;
      step = golden * step_before;
    }
    const double length = std::max(std::abs(step), tolerance);
    const double place = best.place + (step >= 0 ? length : -length);
    const Probe next{place, function(place)};

    if (next.value <= best.value) {
      (place >= best.place ? low : high) = best.place;
      third = second;
      second = best;
      best = next;
    } else {
      (place < best.place ? low : high) = place;
      if (next.value <= second.value || second.place == best.place) {
        third = second;
        second = next;
      } else if (next.value <= third.value || third.place == best.place ||
                 third.place == second.place) {
        third = next;
      }
    }
  }
  return best.place;
}

}  // namespace protogcd
