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

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;
using ::testing::Not;
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
    EXPECT_EQ(packed->left_out().ignored, 1u);
  }
}

TEST(PackedImages, ALabelMayStandApartFromItsImage) {
  Packing packing;
  const auto labels = [&](std::vector<std::string> order) {
    packing.put("a.jpg", packing.png(1));
    packing.put("a.cls", "cat");
    packing.put("b.jpg", packing.png(2));
    packing.put("b.json", R"({"label": "dog"})");
    packing.put("c.jpg", packing.png(3));
    packing.names = std::move(order);
    const auto packed = PackedImages::open(packing.pack("x.tar"));
    std::vector<std::string> found;
    for (const auto& image : packed->images())
      found.push_back(image.label < 0 ? "-" : packed->label_names().at(image.label));
    return found;
  };
  EXPECT_THAT(labels({"a.cls", "b.json", "a.jpg", "b.jpg", "c.jpg"}),
              ElementsAre("cat", "dog", "-"));
  EXPECT_THAT(labels({"a.jpg", "b.jpg", "c.jpg", "a.cls", "b.json"}),
              ElementsAre("cat", "dog", "-"));
}

TEST(PackedImages, NamesAreThoseBelowTheArchive) {
  Packing packing;
  packing.put("./a.png", packing.png(1));
  packing.put("./a.cls", "cat");
  packing.put("./b/./c.png", packing.png(2));
  const auto tar = packing.pack("x.tar");
  const auto packed = PackedImages::open(tar);
  ASSERT_EQ(packed->images().size(), 2u);
  EXPECT_EQ(packed->name(0), "a.png");
  EXPECT_EQ(packed->name(1), "b/c.png");
  EXPECT_EQ(packed->label_names().at(packed->images()[0].label), "cat");
  for (const char* name : {"x.tar/a.png", "x.tar/./a.png", "x.tar/b/c.png"})
    EXPECT_TRUE(std::holds_alternative<Image>(StoredImages().read(packing.folder / name, {})))
        << name;
}

TEST(PackedImages, NamesThatLeadOutOfTheArchiveAreLeftOutByName) {
  Packing packing;
  packing.put("in.png", packing.png(1));
  packing.put("up.png", packing.png(2));
  packing.put("deep/down/in.png", packing.png(3));
  packing.put("root.png", packing.png(4));
  create_folders(packing.folder / "shards");
  ASSERT_EQ(run_command({"tar", "-P", "-C", packing.folder / "files", "-cf",
                         packing.folder / "shards/x.tar", "--transform=s,^up,../up,",
                         "--transform=s,^deep/down,deep/../../out,", "--transform=s,^root,/root,",
                         "in.png", "up.png", "deep/down/in.png", "root.png"})
                .exit_code,
            0);
  SourceTable sources;
  const ImageListing listing = list_images(packing.folder / "shards", sources);
  ASSERT_EQ(sources.size(), 1u);
  EXPECT_EQ(sources.name(0), "in.png");
  EXPECT_THAT(listing.problems,
              ElementsAre(AllOf(HasSubstr("x.tar: 3 "), HasSubstr("../up.png"),
                                HasSubstr("deep/../../out/in.png"), HasSubstr("/root.png"))));
  ASSERT_EQ(sources.unreadable().size(), 3u);
  EXPECT_EQ(sources.unreadable()[0].path, (packing.folder / "shards/x.tar").string());
  EXPECT_THAT(sources.unreadable()[0].reason, HasSubstr("'../up.png' leads out"));
}

TEST(PackedImages, AreListedAsThoseOfAFolder) {
  Packing packing;
  packing.put("a.png", packing.png(1));
  packing.put("._a.png", "of another system");
  packing.put(".hidden/b.png", packing.png(2));
  packing.put("c/.DS_Store", "x");
  packing.put("c/photo.CR2", "a raw file");
  packing.put("c/drawing.psd", "x");
  packing.put("c/notes.txt", "x");
  const auto tar = packing.pack("shards/x.tar");
  SourceTable files, packed;
  const ImageListing of_files = list_images(packing.folder / "files", files);
  const ImageListing of_tar = list_images(packing.folder / "shards", packed);
  EXPECT_EQ(of_tar.count, of_files.count);
  EXPECT_EQ(of_tar.hidden_files, of_files.hidden_files);
  EXPECT_EQ(of_tar.ignored_files, of_files.ignored_files);
  EXPECT_EQ(of_tar.unreadable, of_files.unreadable);
  EXPECT_EQ(of_tar.problems, of_files.problems);
  ASSERT_EQ(packed.unreadable().size(), 2u);
  EXPECT_EQ(packed.unreadable()[0].path, tar.string() + "/c/photo.CR2");
  EXPECT_THAT(packed.unreadable()[0].reason, HasSubstr("raw file is not read"));
  EXPECT_EQ(open_image_set(tar, Logger()).sources.unreadable().size(), 2u);
}

TEST(PackedImages, LinksAreLeftOutByName) {
  Packing packing;
  packing.put("a.png", packing.png(1));
  const std::string long_name = std::string(120, 'l') + ".png";
  std::filesystem::create_hard_link(packing.folder / "files/a.png",
                                    packing.folder / "files/hard.png");
  std::filesystem::create_symlink("a.png", packing.folder / "files" / long_name);
  std::filesystem::create_symlink("a.png", packing.folder / "files/no-image");
  packing.names.insert(packing.names.end(), {"hard.png", long_name, "no-image"});
  for (const char* format : {"gnu", "pax"}) {
    const auto names = packing.names;
    packing.pack("shards/x.tar", format);
    packing.names = names;
    SourceTable sources;
    const ImageListing listing = list_images(packing.folder / "shards", sources);
    EXPECT_EQ(listing.count, 1u);
    EXPECT_THAT(listing.problems,
                ElementsAre(AllOf(HasSubstr("x.tar: 2 links"), HasSubstr("hard.png"),
                                  HasSubstr(long_name), Not(HasSubstr("no-image")))))
        << format;
    ASSERT_EQ(sources.unreadable().size(), 2u);
    EXPECT_THAT(sources.unreadable()[0].reason, HasSubstr("a link to another file"));
  }
}

TEST(PackedImages, FilesBeyondTheLimitAreNotRead) {
  Packing packing;
  packing.put("a.png", packing.png(1));
  const auto tar = packing.pack("shards/x.tar");
  SourceTable sources;
  list_images(packing.folder / "shards", sources);
  const DecodeOptions small{.max_file_bytes = 100};
  Image image;
  ResizedReader reader(sources, small);
  for (const MaybeBad& bad : {reader.read(0, 12, image), reader.read_center(0, {}, image)}) {
    ASSERT_TRUE(bad);
    EXPECT_THAT(bad->reason, HasSubstr("more than the limit"));
  }
  EXPECT_TRUE(std::holds_alternative<BadImage>(reader.read_whole(0)));
  EXPECT_TRUE(std::holds_alternative<BadImage>(StoredImages().read(sources.path(0), small)));
}

TEST(PackedImages, AFolderMayBeCalledAsAnArchive) {
  Packing packing;
  packing.put("b.png", packing.png(1));
  const auto tar = packing.pack("x.tar/y.tar");
  write_png(packing.folder / "x.tar/a.png", random_image(20, 14, 2));
  for (const char* name : {"x.tar/a.png", "x.tar/y.tar/b.png"})
    EXPECT_TRUE(std::holds_alternative<Image>(StoredImages().read(packing.folder / name, {})))
        << name;
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

TEST(ImageList, AByteOrderMarkIsNoPartOfTheFirstPath) {
  SourceTable sources;
  std::istringstream text(
      "\xEF\xBB\xBF"
      "a.jpg\r\nb.jpg\r\n");
  list_images_of(text, "list.txt", "", sources);
  ASSERT_EQ(sources.size(), 2u);
  EXPECT_EQ(sources.path(0), "a.jpg");
}

TEST(ImageList, OneThatCannotBeReadToItsEndIsAnError) {
  struct Failing : std::stringbuf {
    using std::stringbuf::stringbuf;
    int_type underflow() override {
      if (in_avail() > 0) return std::stringbuf::underflow();
      throw std::runtime_error("Input/output error");
    }
  };
  Failing buffer("a.jpg\nb.jpg\n", std::ios::in);
  std::istream text(&buffer);
  SourceTable sources;
  EXPECT_THAT(message_of<FileError>([&] { list_images_of(text, "list.txt", "", sources); }),
              HasSubstr("list.txt: cannot be read beyond line 2"));
}

}  // namespace
}  // namespace protogcd
