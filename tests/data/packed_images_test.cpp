// Images in tar files as WebDataset has them, and lists of paths.
#include "protogcd/data/packed_images.h"

#include <gmock/gmock.h>

#include <sstream>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/data/image_cache.h"
#include "protogcd/data/image_files.h"
#include "protogcd/data/image_set.h"
#include "protogcd/data/stored_images.h"
#include "protogcd/data/user_data.h"
#include "protogcd/image/encode.h"
#include "tests/image/image_helpers.h"
#include "tests/support/error_message.h"
#include "tests/support/run_program.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;
using testing::random_image;
using testing::run_command;
using testing::TemporaryFolder;

/// Files, and the tar program that packs them in this order.
struct Packing {
  void put(const std::string& name, const std::string& bytes) {
    create_folders((folder / "files" / name).parent_path());
    write_file_atomically(folder / "files" / name, bytes);
    names.push_back(name);
  }
  std::filesystem::path pack(const std::string& tar, const std::string& format = "gnu") {
    create_folders((folder / tar).parent_path());
    std::vector<std::string> command = {"tar", "--format=" + format, "-C", folder / "files",
                                        "-cf", folder / tar};
    command.insert(command.end(), names.begin(), names.end());
    EXPECT_EQ(run_command(command).exit_code, 0);
    names.clear();
    return folder / tar;
  }
  std::string png(std::uint64_t seed) {
    write_png(folder / "one.png", random_image(20, 14, seed));
    return read_text_file(folder / "one.png");
  }

  TemporaryFolder folder;
  std::vector<std::string> names;
};

TEST(PackedImages, HasImagesWithTheLabelsOfTheirKey) {
  Packing packing;
  packing.put("a/1.png", packing.png(1));
  packing.put("a/1.cls", "7\n");
  packing.put("a/2.json", R"({"label": "cat", "size": 3})");
  packing.put("a/2.png", packing.png(2));
  packing.put("a/2.txt", "a caption");
  packing.put("b/2.png", packing.png(3));
  packing.put("c.json", R"({"cls": 7})");
  packing.put("c.jpeg", packing.png(4));
  for (const char* format : {"gnu", "ustar", "pax"}) {
    auto names = packing.names;
    const auto packed = PackedImages::open(packing.pack("x.tar", format));
    packing.names = names;
    ASSERT_EQ(packed->images().size(), 4u) << format;
    EXPECT_EQ(packed->name(1), "a/2.png");
    std::vector<std::string> labels;
    for (const auto& image : packed->images())
      labels.push_back(image.label < 0 ? "-" : packed->label_names().at(image.label));
    EXPECT_THAT(labels, ElementsAre("7", "cat", "-", "7"));
    EXPECT_EQ(packed->ignored_files(), 1u);
  }
}

TEST(PackedImages, LongNamesAreWhole) {
  for (const char* format : {"gnu", "pax"}) {
    Packing packing;
    const std::string name = std::string(90, 'f') + "/" + std::string(120, 'g') + ".png";
    packing.put(name, packing.png(1));
    EXPECT_EQ(PackedImages::open(packing.pack("x.tar", format))->name(0), name);
  }
}

TEST(PackedImages, ADamagedArchiveIsNamedWithThePlace) {
  Packing packing;
  packing.put("1.png", packing.png(1));
  const auto tar = packing.pack("x.tar");
  const std::string whole = read_text_file(tar);
  const auto message = [&](const std::string& bytes) {
    write_file_atomically(tar, bytes);
    return message_of<DataError>([&] { PackedImages::open(tar); });
  };
  EXPECT_THAT(message(whole.substr(0, 300)), HasSubstr("cut off at byte 0"));
  EXPECT_THAT(message(whole.substr(0, 700)), HasSubstr("beyond the end at byte 0"));
  EXPECT_THAT(message("X" + whole.substr(1)), HasSubstr("damaged header at byte 0"));
}

TEST(PackedImages, AreReadWhereTheyLieAsTheFilesTheyWere) {
  Packing packing;
  for (int i = 0; i < 3; ++i) packing.put(std::to_string(i) + ".png", packing.png(10 + i));
  packing.put("bad.png", "no image");
  packing.pack("shards/part.tar");
  SourceTable files, packed;
  list_images(packing.folder / "files", files);
  const ImageListing listing = list_images(packing.folder / "shards", packed);
  ASSERT_EQ(listing.count, 4u);
  EXPECT_EQ(packed.path(1), (packing.folder / "shards/part.tar/1.png").string());
  ResizedReader reader(files, {}), packed_reader(packed, {});
  Image one, other;
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_FALSE(reader.read(i, 12, one));
    EXPECT_FALSE(packed_reader.read(i, 12, other));
    EXPECT_EQ(one.pixels, other.pixels);
    EXPECT_FALSE(packed_reader.read_center(i, ViewSize::for_crop(8), other));
    const ImageOrBad by_path = StoredImages().read(packed.path(i), {});
    EXPECT_EQ(std::get<Image>(by_path).pixels, std::get<Image>(reader.read_whole(i)).pixels);
    EXPECT_EQ(std::get<Image>(packed_reader.read_whole(i)).pixels,
              std::get<Image>(reader.read_whole(i)).pixels);
  }
  EXPECT_TRUE(packed_reader.read(3, 12, other));
  EXPECT_EQ(open_image_set(packing.folder / "shards/part.tar", Logger()).sources.size(), 4u);
}

TEST(PackedImages, AsLabelledImagesTheirClassesAreTheirLabels) {
  Packing packing;
  packing.put("1.png", packing.png(1));
  packing.put("1.cls", "cat");
  packing.put("2.png", packing.png(2));
  packing.put("2.cls", "dog");
  packing.pack("labelled/one.tar");
  packing.put("3.png", packing.png(3));
  packing.put("3.cls", "cat");
  packing.pack("labelled/two.tar");
  create_folders(packing.folder / "labelled/bird");
  write_file_atomically(packing.folder / "labelled/bird/4.png", packing.png(4));
  const Dataset dataset = load_folders(packing.folder / "labelled", {});
  EXPECT_THAT(dataset.classes, ElementsAre("bird", "cat", "dog"));
  std::vector<std::int32_t> labels;
  for (const Sample& sample : dataset.samples) labels.push_back(sample.label);
  EXPECT_THAT(labels, ElementsAre(1, 2, 1, 0));
  packing.put("5.png", packing.png(5));
  packing.pack("labelled/three.tar");
  EXPECT_THAT(message_of<DataError>([&] { load_folders(packing.folder / "labelled", {}); }),
              HasSubstr("5.png: no label"));
}

TEST(ImageList, IsReadLineByLineRelativeToItsFolder) {
  SourceTable sources;
  std::istringstream text("a.jpg\nb/c.png\r\n\nb/d.png\n/abs/e.jpg\n/f.jpg\n");
  const ImageListing listing = list_images_of(text, "list.txt", "folder", sources);
  ASSERT_EQ(listing.count, 5u);
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < sources.size(); ++i) paths.push_back(sources.path(i));
  EXPECT_THAT(paths, ElementsAre("folder/a.jpg", "folder/b/c.png", "folder/b/d.png", "/abs/e.jpg",
                                 "/f.jpg"));
  std::istringstream wrong("a.jpg\nb/\n");
  EXPECT_THAT(message_of<DataError>([&] { list_images_of(wrong, "list.txt", "", sources); }),
              HasSubstr("list.txt:2: 'b/'"));
}

}  // namespace
}  // namespace protogcd
