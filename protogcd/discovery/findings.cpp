#include "protogcd/discovery/findings.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "protogcd/discovery/label_errors.h"
#include "protogcd/discovery/near_duplicates.h"
#include "protogcd/image/image_look.h"
#include "protogcd/run/run_result.h"
#include "protogcd/training/candidate.h"

namespace protogcd {
namespace {

/// The label that somebody gave an image; those kept out of training have it as their truth.
std::int32_t given_label(const Sample& sample) {
  return sample.set == SampleSet::kCalibration ? sample.truth : sample.label;
}

/// Why labels cannot be judged; empty where they can.
std::string why_no_judge(double accuracy) {
  if (std::isnan(accuracy))
    return "the labelled images are of one class or one picture, so no label can be judged";
  if (accuracy >= kLowFrozenAccuracy) return {};
  return fmt::format(
      "by the backbone's own features {:.0f}% of the labelled images are recognised, and {:.0f}% "
      "are "
      "needed to say that a label is wrong",
      100 * accuracy, 100 * kLowFrozenAccuracy);
}

class Search {
 public:
  explicit Search(const TrainingSet& set) : set_(set), places_(set.sources().size()) {
    std::vector<bool> seen(set.sources().size());
    constexpr SampleSet kLabelsFirst[] = {SampleSet::kLabelled, SampleSet::kCalibration,
                                          SampleSet::kUnlabelled, SampleSet::kAside,
                                          SampleSet::kTest};
    for (const SampleSet which : kLabelsFirst) {
      for (const Sample& sample : set.of(which)) {
        if (seen[sample.source]) continue;
        seen[sample.source] = true;
        places_[sample.source] = images_.size();
        images_.push_back(sample);
        looks_.push_back(set.looks()[sample.source]);
      }
    }
    is_faulty_.resize(images_.size());
    pictures_.resize(images_.size());
    std::iota(pictures_.begin(), pictures_.end(), 0);
  }

  void find_near_duplicates(const Context& context) {
    const auto found = near_duplicates(looks_, context);
    if (!found) {
      counts_.duplicates_unchecked =
          fmt::format("more than {} images are not compared with each other", kMostCompared);
      return;
    }
    for (const NearDuplicate& one : *found) {
      pictures_[one.image] = static_cast<std::int64_t>(one.first);
      Finding& finding = add(FindingKind::kNearDuplicate, images_[one.image], one.correlation);
      finding.other = path_of(images_[one.first]);
      finding.other_class = class_name(given_label(images_[one.first]));
    }
  }

  /// To be called last: near-duplicates do not judge each other, and an image that is dark, blurred
  /// or tiny looks like another class for that reason.
  void check_labels_of(std::span<const Sample> samples, const at::Tensor& features) {
    std::vector<std::int64_t> labels, groups;
    for (const Sample& sample : samples) {
      labels.push_back(given_label(sample));
      groups.push_back(pictures_[places_[sample.source]]);
    }
    const LabelCheck check = check_labels(features, labels, groups);
    counts_.labels_unchecked = why_no_judge(check.accuracy);
    if (!counts_.labels_unchecked.empty()) return;
    for (const LabelError& error : check.errors) {
      const Sample& sample = samples[static_cast<std::size_t>(error.image)];
      if (is_faulty_[places_[sample.source]]) continue;
      add(FindingKind::kLabelError, sample, error.margin).other =
          class_name(static_cast<std::int32_t>(error.looks_like));
    }
  }

  void find_faults(std::int64_t crop) {
    constexpr FindingKind kKinds[] = {FindingKind::kDark, FindingKind::kBlurred,
                                      FindingKind::kTiny};
    for (const FaultyImage& one : faulty_images(looks_, static_cast<int>(crop))) {
      add(kKinds[static_cast<std::size_t>(one.fault)], images_[one.place], one.score);
      is_faulty_[one.place] = true;
    }
  }

  /// The most foreign first.
  void add_foreign(const ForeignImages& foreign) {
    const auto unlabelled = set_.of(SampleSet::kUnlabelled), aside = set_.of(SampleSet::kAside);
    std::vector<std::size_t> order(foreign.places.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return foreign.similarity[i]; });
    for (const std::size_t i : order) {
      add(FindingKind::kForeign, aside.empty() ? unlabelled[foreign.places[i]] : aside[i],
          foreign.similarity[i]);
    }
  }

  const FindingCounts& counts() const { return counts_; }
  std::vector<Finding> findings() {
    std::ranges::stable_sort(findings_, {}, &Finding::kind);
    return std::move(findings_);
  }

 private:
  /// As predictions.csv has it: it opens from anywhere.
  std::string path_of(const Sample& sample) const {
    return comparable_path(set_.sources().path(sample.source));
  }
  std::string class_name(std::int32_t label) const {
    return std::string(set_.dataset().class_name(label));
  }
  Finding& add(FindingKind kind, const Sample& sample, double score) {
    ++counts_.of(kind);
    return findings_.emplace_back(Finding{.kind = kind,
                                          .path = path_of(sample),
                                          .set = std::string(sample_set_name(sample.set)),
                                          .class_name = class_name(given_label(sample)),
                                          .other = {},
                                          .score = score});
  }

  const TrainingSet& set_;
  std::vector<Sample> images_;          ///< each image once, with
  std::vector<ImageLook> looks_;        ///< what it looks like,
  std::vector<bool> is_faulty_;         ///< whether that is poor,
  std::vector<std::int64_t> pictures_;  ///< and the first image of its picture
  std::vector<std::size_t> places_;     ///< by source: where it is among them
  std::vector<Finding> findings_;
  FindingCounts counts_;
};

}  // namespace

FindingCounts write_findings_of(TrainingMaterial& material, const Backbone& backbone,
                                const at::Tensor& labelled, const ForeignImages& foreign,
                                const std::filesystem::path& file, const Context& context) {
  const TrainingSet& set = material.set();
  Search search(set);
  search.find_near_duplicates(context);
  search.find_faults(backbone.preprocessing.size);
  search.add_foreign(foreign);
  if (labelled.defined()) {
    std::vector<Sample> samples;
    for (const SampleSet which : {SampleSet::kLabelled, SampleSet::kCalibration})
      samples.insert(samples.end(), set.of(which).begin(), set.of(which).end());
    at::Tensor features = labelled;
    if (set.count(SampleSet::kCalibration) > 0) {
      features = at::cat(
          {labelled, untrained_features(material, backbone, SampleSet::kCalibration, context)});
    }
    search.check_labels_of(samples, features);
  }
  write_findings(file, search.findings());
  const FindingCounts& counts = search.counts();
  if (const std::string words = in_words(counts); !words.empty())
    context.log.info(fmt::format("{}: {}", words, file.string()));
  for (const std::string& reason : {counts.labels_unchecked, counts.duplicates_unchecked})
    if (!reason.empty()) context.log.info("not looked for: " + reason);
  return counts;
}

}  // namespace protogcd
