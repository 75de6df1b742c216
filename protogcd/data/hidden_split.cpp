#include "protogcd/data/hidden_split.h"

#include <algorithm>
#include <cmath>

#include "protogcd/core/error.h"
#include "protogcd/core/random.h"

namespace protogcd {
namespace {

constexpr double kHiddenClasses = 0.25;  // of all old ones
constexpr double kHiddenOfAKept = 0.1;   // of a kept class's samples, without calibration samples
constexpr std::size_t kLeastKept = 2;    // classes

/// Places of the labelled samples of each old class.
std::vector<std::vector<std::uint32_t>> places_of_classes(const Dataset& dataset) {
  std::vector<std::vector<std::uint32_t>> places(dataset.old_classes);
  for (std::size_t i = 0; i < dataset.samples.size(); ++i) {
    const Sample& sample = dataset.samples[i];
    if (sample.set != SampleSet::kLabelled) break;  // they come first
    places[static_cast<std::size_t>(sample.label)].push_back(static_cast<std::uint32_t>(i));
  }
  return places;
}

/// For each old class whether this draw hides it. Draws take one part after the other of the same
/// order.
std::vector<bool> drawn_classes(const std::vector<std::vector<std::uint32_t>>& places,
                                std::uint64_t seed, std::size_t draw) {
  std::vector<std::size_t> classes;
  for (std::size_t c = 0; c < places.size(); ++c)
    if (!places[c].empty()) classes.push_back(c);
  if (classes.size() < kLeastClassesToHide)
    throw InternalError("hide_classes: too few classes have labelled samples");
  RandomStream stream({.seed = seed, .purpose = RandomPurpose::kHide});
  shuffle(std::span(classes), stream);
  const auto quarter =
      static_cast<std::size_t>(std::lround(kHiddenClasses * static_cast<double>(classes.size())));
  const std::size_t count = std::clamp<std::size_t>(quarter, 1, classes.size() - kLeastKept);
  std::vector<bool> hidden(places.size(), false);
  for (std::size_t i = 0; i < count; ++i)
    hidden[classes[(draw * count + i) % classes.size()]] = true;
  return hidden;
}

}  // namespace

std::size_t labelled_class_count(const Dataset& dataset) {
  return static_cast<std::size_t>(
      std::ranges::count_if(places_of_classes(dataset), [](const auto& p) { return !p.empty(); }));
}

HiddenSplit hide_classes(const Dataset& dataset, std::uint64_t seed, std::size_t draw) {
  std::vector<std::vector<std::uint32_t>> places = places_of_classes(dataset);
  const std::vector<bool> is_hidden = drawn_classes(places, seed, draw);
  HiddenSplit split;
  split.numbers.resize(places.size());
  for (std::size_t c = 0; c < places.size(); ++c)
    if (!is_hidden[c]) split.numbers[c] = static_cast<std::int32_t>(split.old_classes++);
  auto next = static_cast<std::int32_t>(split.old_classes);
  for (std::size_t c = 0; c < places.size(); ++c)
    if (is_hidden[c]) split.numbers[c] = next++;

  const bool has_judges = std::ranges::any_of(dataset.samples, [&](const Sample& sample) {
    return sample.set == SampleSet::kCalibration &&
           !is_hidden[static_cast<std::size_t>(sample.truth)];
  });
  for (std::size_t c = 0; c < places.size(); ++c) {
    std::size_t count = is_hidden[c] ? places[c].size() : 0;
    if (!is_hidden[c] && !has_judges && places[c].size() > 1) {
      RandomStream stream({.seed = seed,
                           .purpose = RandomPurpose::kHide,
                           .epoch = static_cast<std::uint32_t>(draw + 1),
                           .position = c});
      shuffle(std::span(places[c]), stream);
      count = std::max<std::size_t>(
          1, static_cast<std::size_t>(kHiddenOfAKept * static_cast<double>(places[c].size())));
    }
    split.hidden.insert(split.hidden.end(), places[c].begin(),
                        places[c].begin() + static_cast<std::ptrdiff_t>(count));
    split.kept.insert(split.kept.end(), places[c].begin() + static_cast<std::ptrdiff_t>(count),
                      places[c].end());
  }
  std::ranges::sort(split.hidden);
  std::ranges::sort(split.kept);
  for (const std::uint32_t place : split.kept)
    split.labels.push_back(split.numbers[static_cast<std::size_t>(dataset.samples[place].label)]);
  return split;
}

}  // namespace protogcd
