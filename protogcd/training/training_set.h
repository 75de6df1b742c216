// The images that a run trains and evaluates on: the readable ones of a dataset, decoded as far as
// memory reaches.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "protogcd/core/bad_image_policy.h"
#include "protogcd/core/context.h"
#include "protogcd/data/image_cache.h"
#include "protogcd/data/sample.h"
#include "protogcd/data/skipped.h"
#include "protogcd/engine/image_loader.h"

namespace protogcd {

class TrainingSet {
 public:
  /// Reads every image once, and takes a look at each if asked to; those that cannot be read are
  /// left out.
  TrainingSet(Dataset dataset, const LoaderOptions& loader, std::uint64_t cache_bytes,
              const BadImagePolicy& policy, const Context& context, bool looks_at_images = false);

  const Dataset& dataset() const { return dataset_; }
  const SourceTable& sources() const { return dataset_.sources; }
  const ImageCache& cache() const { return cache_; }
  const SkippedFiles& skipped() const { return skipped_; }
  /// By source; empty where nobody asked.
  const std::vector<ImageLook>& looks() const { return looks_; }
  std::size_t count(SampleSet set) const { return of(set).size(); }
  std::span<const Sample> of(SampleSet set) const;
  /// Takes the unlabelled images at these places out of training.
  void set_aside(std::span<const std::uint32_t> places);
  /// All that came without a label: the unlabelled images that are trained on, then those set
  /// aside.
  std::vector<Sample> to_predict() const;
  /// Labelled and unlabelled, in this order: what the sampler draws from.
  std::span<const Sample> train() const;
  /// Names what the training depends on: every path, label and set.
  std::string digest() const;
  /// The same as a table: path, set, class.
  void write_list(const std::filesystem::path& csv_file) const;
  /// In words, the first image that such a table has otherwise; nothing where none.
  std::optional<std::string> difference_from(const std::filesystem::path& csv_file) const;

 private:
  Dataset dataset_;
  ImageCache cache_;
  SkippedFiles skipped_;
  std::vector<ImageLook> looks_;
};

std::vector<std::uint32_t> sources_of(std::span<const Sample> samples);
/// Of the labelled images, [N_l] int64.
at::Tensor labelled_classes(const TrainingSet& set);
/// How many labelled images each old class has, [K_old].
std::vector<std::int64_t> labelled_of_class(const TrainingSet& set);
std::vector<std::int32_t> truths_of(std::span<const Sample> samples);

}  // namespace protogcd
