// predictions.csv, written and read.
#include "protogcd/run/predictions_table.h"

#include <gmock/gmock.h>

#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "tests/support/error_message.h"
#include "tests/support/temporary_folder.h"

namespace protogcd {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using testing::TemporaryFolder;

const std::vector<PredictedImage> kImages = {
    {.path = "a, b.png", .class_name = "owl", .confidence = 0.5, .typicality = 0.25},
    {.path = "c.png",
     .class_name = "new-01",
     .is_new = true,
     .confidence = 0.125,
     .typicality = -1,
     .outlier_score = 3.5,
     .is_outlier = true}};

std::filesystem::path written(const TemporaryFolder& folder, const char* name) {
  PredictionsTableWriter writer(folder / name);
  for (const PredictedImage& image : kImages) writer.row(image);
  writer.commit();
  return folder / name;
}

TEST(PredictionsTable, HasTheColumnsThatOthersRead) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_text_file(written(folder, "p.csv")),
            "path,class,is_new,confidence,typicality,outlier_score,is_outlier\n"
            "\"a, b.png\",owl,0,0.500000,0.250000,0.000000,\n"
            "c.png,new-01,1,0.125000,-1.000000,3.500000,1\n");
  EXPECT_EQ(read_text_file(written(folder, "p.json")),
            "[\n{\"path\":\"a, b.png\",\"class\":\"owl\",\"is_new\":false,\"confidence\":0.5,"
            "\"typicality\":0.25,\"outlier_score\":0.0,\"is_outlier\":null},\n"
            "{\"path\":\"c.png\",\"class\":\"new-01\",\"is_new\":true,\"confidence\":0.125,"
            "\"typicality\":-1.0,\"outlier_score\":3.5,\"is_outlier\":true}\n]\n");
}

TEST(PredictionsTable, StabilityIsToldWhereItIsKnown) {
  const TemporaryFolder folder;
  const auto lines = [&](const char* name) {
    PredictionsTableWriter writer(folder / name, {"1", {"owl", "new-01"}}, true);
    PredictedImage image = kImages[1];
    writer.row(image, std::vector<float>{0.25f, 0.75f});
    image.stability = 0.5;
    writer.row(image, std::vector<float>{0.25f, 0.75f});
    writer.commit();
    return read_text_file(folder / name);
  };
  EXPECT_EQ(lines("p.csv"),
            "path,class,is_new,confidence,typicality,outlier_score,is_outlier,stability,class_1,"
            "p_1\n"
            "c.png,new-01,1,0.125000,-1.000000,3.500000,1,,new-01,0.750000\n"
            "c.png,new-01,1,0.125000,-1.000000,3.500000,1,0.500000,new-01,0.750000\n");
  EXPECT_THAT(lines("p.json"), ::testing::AllOf(HasSubstr("\"stability\":null,\"class_1\""),
                                                HasSubstr("\"stability\":0.5,\"class_1\"")));
}

TEST(PredictionsTable, ProbabilitiesFollowTheOtherColumns) {
  const TemporaryFolder folder;
  const std::vector<std::string> classes = {"owl", "a,b", "new-01"};
  const auto lines = [&](const char* name, const char* wanted) {
    PredictionsTableWriter writer(folder / name, {wanted, classes});
    writer.row(kImages[1], std::vector<float>{0.25f, 0.125f, 0.625f});
    writer.commit();
    EXPECT_EQ(PredictionsTable::read(folder / name).class_name(0), "new-01");
    return read_text_file(folder / name);
  };
  const std::string header = "path,class,is_new,confidence,typicality,outlier_score,is_outlier",
                    row = "c.png,new-01,1,0.125000,-1.000000,3.500000,1";
  EXPECT_EQ(lines("p.csv", ""), header + "\n" + row + "\n");
  EXPECT_EQ(lines("p.csv", "all"),
            header + ",p_owl,\"p_a,b\",p_new-01\n" + row + ",0.250000,0.125000,0.625000\n");
  EXPECT_EQ(lines("p.csv", "2"),
            header + ",class_1,p_1,class_2,p_2\n" + row + ",new-01,0.625000,owl,0.250000\n");
  EXPECT_THAT(lines("p.csv", "9"), HasSubstr("p_2,class_3,p_3\n")) << "there are only three";
  EXPECT_THAT(lines("p.json", "all"),
              HasSubstr("\"is_outlier\":true,\"p_owl\":0.25,\"p_a,b\":0.125,\"p_new-01\":0.625}"));
  EXPECT_THAT(lines("p.json", "1"),
              HasSubstr("\"is_outlier\":true,\"class_1\":\"new-01\",\"p_1\":0.625}"));
}

TEST(PredictionsTable, ReadsWhatItWrote) {
  const TemporaryFolder folder;
  for (const char* name : {"p.csv", "p.json"}) {
    const PredictionsTable table = PredictionsTable::read(written(folder, name));
    ASSERT_EQ(table.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(table.path(i), kImages[i].path);
      EXPECT_EQ(table.class_name(i), kImages[i].class_name);
      EXPECT_EQ(table.is_new(i), kImages[i].is_new);
      EXPECT_EQ(table.confidence(i), kImages[i].confidence);
      EXPECT_EQ(table.typicality(i), kImages[i].typicality);
      EXPECT_EQ(table.outlier_score(i), kImages[i].outlier_score);
      EXPECT_EQ(table.is_outlier(i), kImages[i].is_outlier.value_or(false));
    }
  }
}

TEST(PredictionsTable, TellsTheLikeliestClassesWhereTheyWereWritten) {
  const TemporaryFolder folder;
  for (const char* name : {"p.csv", "p.json"}) {
    PredictionsTableWriter writer(folder / name, {"5", {"owl", "heron", "a, b", "new-01"}});
    const float probabilities[] = {0.125f, 0.5f, 0.375f, 0};
    writer.row(kImages[0], probabilities);
    writer.commit();
    const PredictionsTable table = PredictionsTable::read(folder / name);
    ASSERT_EQ(table.likeliest(), 3u);  // of the four that are there
    EXPECT_EQ(table.likely_class(0, 0), "heron");
    EXPECT_EQ(table.likely_class(0, 1), "a, b");
    EXPECT_EQ(table.probability(0, 2), 0.125);
  }
  EXPECT_EQ(PredictionsTable::read(written(folder, "none.csv")).likeliest(), 0u);
  PredictionsTableWriter two(folder / "two.csv", {"3", {"owl", "heron"}});
  two.commit();
  EXPECT_EQ(PredictionsTable::read(folder / "two.csv").likeliest(), 2u);
}

TEST(PredictionsTable, NamesFileAndLineOfWhatIsWrong) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "p.csv", "path,typicality\na,0.5\nb,high\n");
  const PredictionsTable table = PredictionsTable::read(folder / "p.csv");
  EXPECT_EQ(table.typicality(0), 0.5);
  EXPECT_THAT(message_of<DataError>([&] { table.typicality(1); }),
              HasSubstr("p.csv:3: typicality 'high' is not a number"));
  EXPECT_THAT(message_of<DataError>([&] { table.class_name(0); }),
              HasSubstr("p.csv:1: no column 'class' (there are: path, typicality)"));
  write_file_atomically(folder / "p.json", R"([{"typicality": "x"}])");
  EXPECT_THAT(
      message_of<DataError>([&] { PredictionsTable::read(folder / "p.json").typicality(0); }),
      HasSubstr("p.json: object 1: typicality 'x'"));
  for (const char* text : {"{", "{}", "3", "[3]"}) {
    write_file_atomically(folder / "p.json", text);
    EXPECT_THAT(message_of<DataError>([&] { PredictionsTable::read(folder / "p.json").path(0); }),
                HasSubstr("p.json"))
        << text;
  }
}

}  // namespace
}  // namespace protogcd
