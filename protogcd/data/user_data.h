// Users' own data: folders, manifests, plain images, and hidden labels from a file.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protogcd/data/sample.h"

namespace protogcd {

/// `labelled`: a class is a folder's path below it ('/' between parts), classes sorted by bytes.
/// `unlabelled`: any nesting. Either may be empty, not both. DataError: an image directly in
/// `labelled`, no images at all, or one folder inside the other (an image would be in both sets).
Dataset load_folders(const std::filesystem::path& labelled,
                     const std::filesystem::path& unlabelled);

/// Every image below the folder, as unlabelled samples.
Dataset load_images(const std::filesystem::path& folder);

/// `path,label[,split][,truth][,x,y,width,height]`; paths are relative to the file's folder. With a
/// box, the row's image is that part of the file. An empty label makes an
/// unlabelled sample; split is train (default) or test, and the label of a test sample is its
/// truth. DataError names file and line. That files exist is not checked one by one (a missing one
/// is a bad image like any other), but if neither the first nor the last does, the paths are taken
/// to be wrong.
Dataset load_manifest(const std::filesystem::path& file);
/// The same from text; `folder` is what paths are relative to.
Dataset parse_manifest(std::string_view text, const std::string& name,
                       const std::filesystem::path& folder);

/// Adds hidden labels from a `path,label` file. A path is tried relative to the file's folder, then
/// to each of `roots` (the folders the data came from). Samples that no row names stay without
/// truth: they are left out of evaluations. Rows that match no sample are reported in the dataset's
/// warnings; DataError if none matches, or if a row contradicts a label or another row.
void apply_truth(Dataset& dataset, const std::filesystem::path& file,
                 std::span<const std::filesystem::path> roots);

/// Turns samples whose labels and truths are positions in `names` (any order) into a dataset's
/// final numbering: old classes sorted by bytes, then new ones sorted by bytes.
void number_classes(Dataset& dataset, const std::vector<std::string>& names);

}  // namespace protogcd
