// The parts of a search for the number of classes: on numbers and scores alone.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "protogcd/discovery/neighbour_count.h"
#include "protogcd/run/class_number.h"

namespace protogcd {

/// Algorithm 1: the number of new classes in 0 .. most_new with the highest score, if the score
/// rises and then falls. `scores` gives those of k and k + 1; equal ones (two of minus infinity
/// too) move the search to the left.
std::int64_t search_new_classes(
    std::int64_t most_new, const std::function<std::pair<double, double>(std::int64_t k)>& scores);

/// The numbers from low to high that are looked at: all, or evenly spread ones where they are many.
std::vector<std::int64_t> class_number_grid(std::int64_t low, std::int64_t high,
                                            std::int64_t most_steps = 60);

/// The best of some numbers, and those that score about as well.
struct ClassNumberPeak {
  std::int64_t k = 0, low = 0, high = 0;
  Sureness sureness = Sureness::kUnsure;
};

/// `tolerance`: how far below the best score is about as well. The interval is at most 27% of k
/// wide. How sure the peak is depends on how far apart those numbers are that score within a third
/// of the tolerance. Of equal scores the lowest number counts. There must be a number.
ClassNumberPeak find_peak(const std::vector<std::int64_t>& ks, const std::vector<double>& scores,
                          double tolerance);

/// What neighbours say, between the old classes and k_max. The interval leaves out a tenth on each
/// side; how sure it is says how far from k the truth is nine times in ten.
ClassNumberPeak likely_numbers(const NeighbourCount& found, std::int64_t k_max);

}  // namespace protogcd
