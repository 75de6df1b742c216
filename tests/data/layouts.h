// Tiny copies of the published datasets' folders, made up for tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace protogcd::testing {

/// Writes a file and the folders it is in.
void put_file(const std::filesystem::path& path, std::string_view bytes);
/// A tiny PNG image; `content`, which follows it, makes the file differ from others.
void put_image(const std::filesystem::path& path, std::string_view content = {});

/// Pixels of a made-up CIFAR image: plane c, row y, column x hold (seed + 50 c + 3 y + x) mod 256.
std::string cifar_pixels(unsigned seed);
/// A batch of the binary distribution; label bytes in front of each image.
std::string cifar_binary(const std::vector<std::string>& label_bytes);
/// A batch as Python 2 pickled it; `key` is labels or fine_labels.
std::string cifar_python(const std::vector<int>& labels, const std::string& key,
                         bool fortran = false);
/// cifar-10-batches-bin with the labels 0..9 once in each file.
void make_cifar10_binary(const std::filesystem::path& root);

/// CUB with `images` pictures of each of the 200 classes, every third one a test picture.
void make_cub(const std::filesystem::path& root, int images);
void make_aircraft(const std::filesystem::path& root);

std::filesystem::path test_file(const std::string& name);

}  // namespace protogcd::testing
