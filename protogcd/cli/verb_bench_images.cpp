// `protogcd bench images`: how fast image files become network input, beside Pillow on the same
// files in the same call.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "protogcd/cli/verbs.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/random.h"
#include "protogcd/core/text.h"
#include "protogcd/core/thread_pool.h"
#include "protogcd/image/encode.h"
#include "protogcd/image/image_reader.h"

extern char** environ;

namespace protogcd::cli {
namespace {

constexpr int kWidth = 500, kHeight = 375, kFiles = 48;

/// The published preprocessing, as the Python releases do it. Writes the views once for comparison,
/// then prints images per second of CPU time, which other programs on the machine disturb less.
constexpr const char* kPillowScript = R"(
import sys, time
from PIL import Image
import PIL
def view(path):
    image = Image.open(path).convert("RGB")
    w, h = image.size
    size = (256, int(256 * h / w)) if w < h else (int(256 * w / h), 256)
    image = image.resize(size, Image.BICUBIC)
    left, top = int(round((size[0] - 224) / 2.0)), int(round((size[1] - 224) / 2.0))
    return image.crop((left, top, left + 224, top + 224))
views, passes, paths = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
with open(views, "wb") as file:
    for path in paths:
        file.write(view(path).tobytes())
start = time.process_time()
for _ in range(passes):
    for path in paths:
        view(path)
print(PIL.__version__, passes * len(paths) / (time.process_time() - start))
)";

struct Options {
  std::string python;
  std::int64_t runs = 7;
  std::int64_t passes = 6;
};

/// A folder that goes when the benchmark ends, however it ends.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "protogcd-bench-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw FileError(name + ": cannot make a folder");
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// Something like a photograph: a sky of gradients, round things with edges, and grain.
Image draw_photo(std::uint64_t seed, std::uint64_t number) {
  RandomStream stream({.seed = seed, .purpose = RandomPurpose::kDraw, .position = number});
  struct Disc {
    double x, y, radius, colour[3];
  };
  std::vector<Disc> discs(14);
  for (auto& disc : discs) {
    disc = {stream.uniform(0, kWidth), stream.uniform(0, kHeight), stream.uniform(10, 120), {}};
    for (double& value : disc.colour) value = stream.uniform(-90, 90);
  }
  const double tilt = stream.uniform(0.1, 0.35), wave = stream.uniform(0.02, 0.2);
  Image image(kWidth, kHeight);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) {
      double colour[3] = {60 + tilt * x, 70 + 0.3 * y, 180 - 0.25 * y};
      const double texture = 12 * std::sin(wave * x) * std::cos(wave * 0.7 * y);
      for (const auto& disc : discs) {
        const double dx = (x - disc.x) / disc.radius, dy = (y - disc.y) / disc.radius;
        if (dx * dx + dy * dy < 1) {
          const double distance = std::sqrt(dx * dx + dy * dy);
          for (int c = 0; c < 3; ++c) colour[c] += disc.colour[c] * (1 - 0.5 * distance);
        }
      }
      const double grain = stream.uniform(-9, 9);
      for (int c = 0; c < 3; ++c) {
        image.at(x, y)[c] =
            static_cast<std::uint8_t>(std::clamp(colour[c] + texture + grain, 0.0, 255.0));
      }
    }
  }
  return image;
}

/// Runs a command and gives back what it printed on stdout.
std::string output_of(std::vector<std::string> command, const std::filesystem::path& output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(),
                                   O_CREAT | O_WRONLY | O_TRUNC, 0600);
  std::vector<char*> arguments;
  for (auto& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t process = 0;
  const int error =
      posix_spawnp(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = -1;
  if (error == 0) ::waitpid(process, &status, 0);
  if (status != 0) {
    throw UsageError(fmt::format("--python: '{}' failed", command[0]),
                     "it must be a Python interpreter that can import PIL (pip install pillow)");
  }
  return read_text_file(output);
}

/// Images per second of several runs.
struct Rates {
  std::vector<double> values;

  double median() const {
    auto sorted = values;
    std::sort(sorted.begin(), sorted.end());
    const std::size_t half = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  }
  double lowest() const { return *std::min_element(values.begin(), values.end()); }
  double highest() const { return *std::max_element(values.begin(), values.end()); }
  nlohmann::json to_json() const {
    return {{"median", median()}, {"lowest", lowest()}, {"highest", highest()}};
  }
  std::string row(const std::string& name) const {
    return fmt::format("{:26} {:9.0f} {:9.0f} {:9.0f}\n", name, median(), lowest(), highest());
  }
};

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class Benchmark {
 public:
  Benchmark(const Session& session, const Options& options);
  void run();
  void print() const;

 private:
  void read_all_files(ImageReader& reader, Image& view) const;
  double time_one_core() const;
  double time_all_threads() const;
  double time_pillow();
  void compare_views() const;

  const Session& session_;
  const Options& options_;
  ScratchFolder folder_;
  std::vector<std::filesystem::path> files_;
  std::size_t file_bytes_ = 0;
  Rates one_core_, all_threads_, pillow_;
  std::string pillow_version_;
};

Benchmark::Benchmark(const Session& session, const Options& options)
    : session_(session), options_(options) {
  for (int i = 0; i < kFiles; ++i) {
    files_.push_back(folder_ / fmt::format("{:02}.jpg", i));
    const std::string jpeg = encode_jpeg(draw_photo(session.context.seed, i), {.quality = 90});
    file_bytes_ += jpeg.size();
    write_file_atomically(files_.back(), jpeg);
  }
}

void Benchmark::read_all_files(ImageReader& reader, Image& view) const {
  for (const auto& file : files_) {
    if (const auto bad = reader.read_center_view(file, {}, view)) {
      throw InternalError(fmt::format("{}: {}", file.string(), bad->reason));
    }
  }
}

/// Images per second of CPU time.
double Benchmark::time_one_core() const {
  ImageReader reader;
  Image view;
  const double start = cpu_seconds();
  for (std::int64_t pass = 0; pass < options_.passes; ++pass) read_all_files(reader, view);
  const auto images = static_cast<double>(options_.passes) * static_cast<double>(files_.size());
  return images / (cpu_seconds() - start);
}

/// Images per second of real time.
double Benchmark::time_all_threads() const {
  const std::size_t threads = session_.context.threads;
  ThreadPool pool(threads);
  const auto start = std::chrono::steady_clock::now();
  pool.for_each(threads, [&](std::size_t) {
    ImageReader reader;
    Image view;
    for (std::int64_t pass = 0; pass < options_.passes; ++pass) read_all_files(reader, view);
  });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const auto images = static_cast<double>(options_.passes) * static_cast<double>(files_.size());
  return images * static_cast<double>(threads) / seconds.count();
}

double Benchmark::time_pillow() {
  std::vector<std::string> command = {options_.python, "-c", kPillowScript,
                                      (folder_ / "views").string(),
                                      std::to_string(options_.passes)};
  for (const auto& file : files_) command.push_back(file.string());
  const std::string output = output_of(command, folder_ / "output");
  const auto words = split(trim(output), ' ');
  const auto rate = words.size() == 2 ? parse_real(words[1]) : std::nullopt;
  if (!rate) throw UsageError(fmt::format("--python: unexpected output '{}'", output));
  pillow_version_ = words[0];
  return *rate;
}

/// A comparison of speeds is worth something only between equal results.
void Benchmark::compare_views() const {
  const std::string theirs = read_text_file(folder_ / "views");
  std::string ours;
  ImageReader reader;
  Image view;
  for (const auto& file : files_) {
    reader.read_center_view(file, {}, view);
    ours.append(view.pixels.begin(), view.pixels.end());
  }
  if (ours != theirs) throw InternalError("our views differ from Pillow's");
}

void Benchmark::run() {
  time_one_core();  // warms up the files and the clock
  for (std::int64_t i = 0; i < options_.runs; ++i) {
    one_core_.values.push_back(time_one_core());
    if (!options_.python.empty()) pillow_.values.push_back(time_pillow());
    all_threads_.values.push_back(time_all_threads());
  }
  if (!options_.python.empty()) compare_views();
}

void Benchmark::print() const {
  const char* kernel = resample_kernel_name(available_resample_kernels().back());
  const std::size_t threads = session_.context.threads;
  if (session_.json()) {
    nlohmann::json result = {{"width", kWidth},
                             {"height", kHeight},
                             {"mean_file_bytes", file_bytes_ / files_.size()},
                             {"runs", options_.runs},
                             {"kernel", kernel},
                             {"threads", threads},
                             {"images_per_cpu_second", one_core_.to_json()},
                             {"images_per_second_all_threads", all_threads_.to_json()}};
    if (!pillow_.values.empty()) {
      result["pillow"] = {{"version", pillow_version_},
                          {"images_per_cpu_second", pillow_.to_json()},
                          {"same_pixels", true}};
      result["ratio_per_core"] = one_core_.median() / pillow_.median();
    }
    session_.print_json(result);
    return;
  }
  fmt::print("JPEG {}x{} (quality 90, {} on average): decode, resize to 256, crop 224; {} kernel\n",
             kWidth, kHeight, human_bytes(file_bytes_ / files_.size()), kernel);
  fmt::print("{:26} {:>9} {:>9} {:>9}   ({} runs)\n", "images per second", "median", "lowest",
             "highest", options_.runs);
  fmt::print("{}", one_core_.row("protogcd, per core"));
  fmt::print("{}", all_threads_.row(fmt::format("protogcd, {} threads", threads)));
  if (pillow_.values.empty()) return;
  fmt::print("{}", pillow_.row(fmt::format("Pillow {}, per core", pillow_version_)));
  fmt::print("{:.2f} times Pillow per core, same pixels\n", one_core_.median() / pillow_.median());
}

}  // namespace

Verb bench_images_verb() {
  return {.name = "bench images",
          .summary = "how fast image files become network input, beside Pillow",
          .example = "protogcd bench images --python python3",
          .declare = [](OptionTable& table) -> Action {
            auto options = std::make_shared<Options>();
            table.add("python", &options->python, "a Python interpreter with Pillow to compare to")
                .value_name("PATH");
            table.add("runs", &options->runs, "measurements of each, taken in turn")
                .at_least(5)
                .at_most(1000);
            table.add("passes", &options->passes, "times all files are read per measurement")
                .at_least(1)
                .at_most(10000);
            return [options](Session& session) {
              Benchmark benchmark(session, *options);
              benchmark.run();
              benchmark.print();
            };
          }};
}

}  // namespace protogcd::cli
