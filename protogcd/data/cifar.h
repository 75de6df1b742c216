// CIFAR-10 and CIFAR-100 in their binary and python distributions, CIFAR-C and SVHN: pixels in
// container files.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protogcd/data/record_file.h"

namespace protogcd {

enum class CifarKind { kCifar10, kCifar100 };

using RecordFiles = std::vector<std::shared_ptr<const RecordFile>>;

/// A binary batch: label byte(s), then 3072 bytes of planes, per record. DataError names file and
/// record.
RecordFile parse_cifar_binary(std::span<const std::byte> bytes, const std::filesystem::path& path,
                              CifarKind kind);
/// A python batch: a pickled dict with `data` and `labels` (or `fine_labels`).
RecordFile parse_cifar_python(std::span<const std::byte> bytes, const std::filesystem::path& path,
                              CifarKind kind);

struct CifarFiles {
  RecordFiles train;
  RecordFiles test;  ///< empty if the distribution here has none
  std::vector<std::string> class_names;
};

/// Both halves of a distribution below `root` (or `root` itself is its folder); python is
/// preferred where both are there. DataError lists what was expected and where.
CifarFiles open_cifar(const std::filesystem::path& root, CifarKind kind);
/// The test half alone, which is then required.
CifarFiles open_cifar_test(const std::filesystem::path& root, CifarKind kind);

/// `<root>/<corruption>.npy` and labels.npy; severity 1 to 5 is one fifth of the rows.
std::shared_ptr<const RecordFile> open_cifar_c(const std::filesystem::path& root,
                                               std::string_view corruption, int severity);
/// SVHN's test_32x32.mat; its label 10 stands for the digit 0.
std::shared_ptr<const RecordFile> open_svhn(const std::filesystem::path& root);

}  // namespace protogcd
