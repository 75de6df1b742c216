#include "protogcd/data/data_options.h"

#include <fmt/core.h>

#include "protogcd/core/error.h"
#include "protogcd/core/text.h"
#include "protogcd/data/benchmark.h"
#include "protogcd/data/class_split.h"
#include "protogcd/data/user_data.h"

namespace protogcd {
namespace {

std::string ways_to_give_data() {
  return fmt::format("give one of: {} NAME {} DIR; {} DIR and/or {} DIR; {} FILE.csv; {} DIR",
                     option_name("dataset"), option_name("root"), option_name("labelled"),
                     option_name("unlabelled"), option_name("manifest"), option_name("images"));
}

void check_combination(const DataOptions& options) {
  const bool folders = !options.labelled.empty() || !options.unlabelled.empty();
  const int kinds = int{options.is_benchmark()} + int{folders} + int{!options.manifest.empty()} +
                    int{!options.images.empty()};
  if (kinds == 0) throw UsageError("no data given", ways_to_give_data());
  if (kinds > 1) throw UsageError("more than one kind of data given", ways_to_give_data());
  if (options.is_benchmark() != !options.root.empty()) {
    const std::string dataset = option_name("dataset"), root = option_name("root");
    throw UsageError(options.is_benchmark()
                         ? fmt::format("{} needs {}, the folder it is in", dataset, root)
                         : fmt::format("{} needs {}", root, dataset));
  }
  if (options.labelled_share && !options.is_benchmark() && !options.old_classes) {
    throw UsageError(
        option_name("labelled_share") + ": labels are yours already",
        fmt::format("with {} N they are drawn anew; the datasets of {} are always split",
                    option_name("old_classes"), option_name("dataset")));
  }
  if (options.class_order == ClassOrder::kNatural && !options.is_benchmark()) {
    throw UsageError(fmt::format("{} is for the datasets of {}", option_name("class_order"),
                                 option_name("dataset")));
  }
  if (options.is_benchmark() && !options.truth.empty()) {
    throw UsageError(fmt::format("{}: the datasets of {} bring their own", option_name("truth"),
                                 option_name("dataset")));
  }
}

Dataset load(const DataOptions& options) {
  if (options.is_benchmark()) {
    BenchmarkSplit split{.order = options.class_order};
    if (options.old_classes) split.old_classes = static_cast<std::size_t>(*options.old_classes);
    if (options.labelled_share) split.labelled_share = *options.labelled_share;
    return load_benchmark(options.dataset, options.root, split);
  }
  if (!options.manifest.empty()) return load_manifest(options.manifest);
  if (!options.images.empty()) return load_images(options.images);
  return load_folders(options.labelled, options.unlabelled);
}

}  // namespace

void declare_data_options(OptionTable& table, DataOptions& options) {
  table.begin_group("Images");
  table.add("labelled", &options.labelled, "images in folders named after their class")
      .value_name("DIR")
      .usual();
  table.add("unlabelled", &options.unlabelled, "images without labels, any nesting")
      .value_name("DIR")
      .usual();
  table
      .add("manifest", &options.manifest,
           "images listed as path,label[,split][,truth][,x,y,width,height]")
      .value_name("FILE.csv")
      .usual();
  table.add("dataset", &options.dataset, "a known dataset, see: protogcd datasets list")
      .value_name("NAME")
      .usual();
  table.add("root", &options.root, "the folder that holds the known dataset")
      .value_name("DIR")
      .usual();
  table.add("images", &options.images, "plain images, any nesting").value_name("DIR");
  table.add("truth", &options.truth, "hidden labels as path,label, for evaluation alone")
      .value_name("FILE.csv");
  table
      .add("old_classes", &options.old_classes,
           "split anew: so many classes are old, the first ones in the data's order, and a share "
           "of their images is labelled anew")
      .at_least(1);
  table
      .add("labelled_share", &options.labelled_share,
           "share of the old classes' images that are labelled, where they are drawn: of a known "
           "dataset, or when classes are split anew; a half if not given")
      .above(0)
      .at_most(1);
  table.add_choice<ClassOrder, ClassOrder>(
      "class_order", &options.class_order,
      {{"published", ClassOrder::kPublished}, {"natural", ClassOrder::kNatural}},
      "which classes of cub, scars and aircraft are old: those of the published split, or the "
      "first ones by their numbers");
}

Dataset open_data(const DataOptions& options, const Logger& log) {
  check_combination(options);
  Dataset dataset = load(options);
  dataset.labels_from = options.is_benchmark()     ? "dataset"
                        : options.manifest.empty() ? "folder"
                                                   : "manifest";
  if (!options.truth.empty()) {
    std::vector<std::filesystem::path> roots;
    for (const auto* root : {&options.unlabelled, &options.labelled, &options.images}) {
      if (!root->empty()) roots.push_back(*root);
    }
    if (!options.manifest.empty()) roots.push_back(options.manifest.parent_path());
    apply_truth(dataset, options.truth, roots);
  }
  if (options.old_classes && !options.is_benchmark())
    choose_old_classes(dataset, static_cast<std::size_t>(*options.old_classes),
                       options.labelled_share.value_or(kLabelledShare));
  for (const auto& note : dataset.notes) log.info(note);
  for (const auto& warning : dataset.warnings) log.warning(warning);
  return dataset;
}

}  // namespace protogcd
