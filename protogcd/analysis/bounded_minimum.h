// The minimum of a function of one number between two bounds (Brent 1973): golden sections, and
// parabolas where they converge faster. The points that it looks at are those of scipy's
// minimize_scalar(method='bounded'), so that a search that was done there can be repeated.
#pragma once

#include <functional>

namespace protogcd {

struct BoundedSearch {
  double low = 0, high = 1;
  double tolerance = 1e-5;  ///< absolute, of the place
  int most_evaluations = 500;
};

/// Where the least value was found.
double bounded_minimum(const std::function<double(double)>& function, const BoundedSearch& search);

}  // namespace protogcd
