#include "tests/data/layouts.h"

#include <fmt/core.h>

#include "protogcd/core/files.h"
#include "protogcd/image/encode.h"
#include "tests/support/run_program.h"

namespace protogcd::testing {
namespace {

using namespace std::string_literals;

std::string short_string(const std::string& text) {
  return fmt::format("U{}{}", static_cast<char>(text.size()), text);
}

template <class T>
std::string raw(T number) {
  return {reinterpret_cast<const char*>(&number), sizeof(T)};
}

}  // namespace

void put_file(const std::filesystem::path& path, std::string_view bytes) {
  create_folders(path.parent_path());
  write_file_atomically(path, bytes);
}

void put_image(const std::filesystem::path& path, std::string_view content) {
  // Bytes behind the end of a PNG do not matter to its reader.
  static const std::string image = encode_png(Image(2, 2));
  put_file(path, image + (content.empty() ? path.string() : std::string(content)));
}

std::string cifar_pixels(unsigned seed) {
  std::string pixels;
  for (unsigned c = 0; c < 3; ++c) {
    for (unsigned y = 0; y < 32; ++y) {
      for (unsigned x = 0; x < 32; ++x) pixels += static_cast<char>(seed + 50 * c + 3 * y + x);
    }
  }
  return pixels;
}

std::string cifar_binary(const std::vector<std::string>& label_bytes) {
  std::string bytes;
  for (unsigned i = 0; i < label_bytes.size(); ++i) bytes += label_bytes[i] + cifar_pixels(i);
  return bytes;
}

std::string cifar_python(const std::vector<int>& labels, const std::string& key, bool fortran) {
  const auto count = static_cast<std::uint16_t>(labels.size());
  std::string pixels;
  for (unsigned i = 0; i < count; ++i) pixels += cifar_pixels(i);
  if (fortran) {
    const std::string rows = pixels;
    for (std::size_t i = 0; i < rows.size(); ++i) pixels[i % 3072 * count + i / 3072] = rows[i];
  }
  std::string text = "\x80\x02}q\x01("s + short_string("batch_label") + "q\x02" +
                     short_string("training batch 1 of 5") + "q\x03" + short_string(key) +
                     "q\x04]q\x05(";
  for (const int label : labels) text += "K"s + static_cast<char>(label);
  text += 'e';
  text += short_string("data") +
          "q\x06"
          "cnumpy.core.multiarray\n_reconstruct\nq\x07"
          "cnumpy\nndarray\nq\x08K\0\x85"s +
          short_string("b") + "\x87Rq\t(K\x01M"s + raw(count) +
          "M\0\x0c\x86"
          "cnumpy\ndtype\nq\n"s +
          short_string("u1") + "K\0K\x01\x87Rq\x0b(K\x03"s + short_string("|") +
          "NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb"s + (fortran ? "\x88" : "\x89") + "T" +
          raw(static_cast<std::uint32_t>(pixels.size())) + pixels + "tbu.";
  return text;
}

void make_cifar10_binary(const std::filesystem::path& root) {
  std::vector<std::string> labels;
  for (char label = 0; label < 10; ++label) labels.emplace_back(1, label);
  for (int i = 1; i <= 5; ++i) {
    put_file(root / fmt::format("cifar-10-batches-bin/data_batch_{}.bin", i), cifar_binary(labels));
  }
  put_file(root / "cifar-10-batches-bin/test_batch.bin", cifar_binary(labels));
}

void make_cub(const std::filesystem::path& root, int images) {
  const auto base = root / "CUB_200_2011";
  std::string paths, labels, training;
  int number = 0;
  for (int id = 1; id <= 200; ++id) {
    for (int i = 0; i < images; ++i) {
      const std::string path = fmt::format("{:03}.Bird_{}/{}.jpg", id, id, i);
      put_image(base / "images" / path);
      paths += fmt::format("{} {}\n", ++number, path);
      labels += fmt::format("{} {}\n", number, id);
      training += fmt::format("{} {}\n", number, number % 3 == 0 ? 0 : 1);
    }
  }
  put_file(base / "images.txt", paths);
  put_file(base / "image_class_labels.txt", labels);
  put_file(base / "train_test_split.txt", training);
}

void make_aircraft(const std::filesystem::path& root) {
  std::string train, test;
  for (int i = 0; i < 200; ++i) {
    // Two images of each variant; numbers without leading zeros, so that byte order differs from
    // numeric order.
    train += fmt::format("{:07} Plane {}/B\n", i, i % 100);
    put_image(root / fmt::format("data/images/{:07}.jpg", i));
  }
  test = "0009000 Plane 7/B\n";
  put_image(root / "data/images/0009000.jpg");
  put_file(root / "data/images_variant_trainval.txt", train);
  put_file(root / "data/images_variant_test.txt", test);
}

std::filesystem::path test_file(const std::string& name) {
  return std::filesystem::path(source_folder()) / "tests/data/files" / name;
}

}  // namespace protogcd::testing
