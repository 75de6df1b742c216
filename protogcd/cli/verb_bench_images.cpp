// `protogcd bench images`: how fast image files become network input, beside Pillow on the same
// files in the same call.
#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>

#include "protogcd/cli/bench_photos.h"
#include "protogcd/cli/terminal.h"
#include "protogcd/cli/verbs.h"
#include "protogcd/core/error.h"
#include "protogcd/core/files.h"
#include "protogcd/core/json.h"
#include "protogcd/core/text.h"
#include "protogcd/core/thread_pool.h"
#include "protogcd/image/image_options.h"
#include "protogcd/image/image_reader.h"
#include "protogcd/image/strong_view.h"

extern char** environ;

namespace protogcd::cli {
namespace {

constexpr int kFiles = 48;  // of 500x375; fewer of larger ones
constexpr ViewSize kView = {.short_side = 256, .crop = 224};

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

struct BenchImagesOptions {
  ImageOptions images;
  std::string python;
  std::int64_t width = 500;
  std::int64_t runs = 7;
  std::int64_t passes = 6;
};

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
  if (error == 0) {
    while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (status != 0) {
    throw UsageError(fmt::format("--python: '{}' failed", command[0]),
                     "it must be a Python interpreter that can import PIL (pip install pillow)");
  }
  return read_text_file(output);
}

/// Images per second of several runs.
struct ImagesRates {
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

const char* kernel_name() {
  return resample_kernel_name(available_resample_kernels().back());
}

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

BenchPhotos make_photos(std::int64_t photo_width, std::uint64_t seed) {
  const auto width = static_cast<int>(photo_width);
  const ImageSize size{width, width * 3 / 4};
  const std::int64_t pixels = std::int64_t{kFiles} * 500 * 375;
  return {size, static_cast<int>(std::clamp<std::int64_t>(pixels / size.pixels(), 4, kFiles)),
          seed};
}

class ImagesBenchmark {
 public:
  ImagesBenchmark(const Session& session, const BenchImagesOptions& options)
      : session_(session),
        options_(options),
        photos_(make_photos(options.width, session.context.seed)) {}
  void run();
  void print() const;

 private:
  void read_all_files(ImageReader& reader, Image& view) const;
  double time_one_core(const DecodeOptions& decode) const;
  double time_strong_views() const;
  double time_all_threads() const;
  double time_pillow();
  void compare_views() const;
  double images_per_thread() const {
    return static_cast<double>(options_.passes) * static_cast<double>(photos_.files().size());
  }
  bool with_pillow() const { return !options_.python.empty(); }
  nlohmann::json to_json() const;

  const Session& session_;
  const BenchImagesOptions& options_;
  BenchPhotos photos_;
  ImagesRates one_core_, fast_, strong_, all_threads_, pillow_;
  std::string pillow_version_;
};

void ImagesBenchmark::read_all_files(ImageReader& reader, Image& view) const {
  for (const auto& file : photos_.files()) {
    if (const auto bad = reader.read_center_view(file, kView, view)) {
      throw InternalError(fmt::format("{}: {}", file.string(), bad->reason));
    }
  }
}

/// Images per second of CPU time.
double ImagesBenchmark::time_one_core(const DecodeOptions& decode) const {
  ImageReader reader(decode);
  Image view;
  const double start = cpu_seconds();
  for (std::int64_t pass = 0; pass < options_.passes; ++pass) read_all_files(reader, view);
  return images_per_thread() / (cpu_seconds() - start);
}

/// Strong views per second of CPU time, by the usual recipe, of images that are read already.
double ImagesBenchmark::time_strong_views() const {
  ImageReader reader;
  std::vector<Image> images(photos_.files().size());
  for (std::size_t i = 0; i < images.size(); ++i) {
    if (const auto bad = reader.read_resized(photos_.files()[i], kView.short_side, images[i]))
      throw InternalError(fmt::format("{}: {}", photos_.files()[i].string(), bad->reason));
  }
  StrongViewMaker maker;
  Image view;
  RandomKey key{.seed = session_.context.seed, .purpose = RandomPurpose::kStrongAugment};
  const double start = cpu_seconds();
  for (std::int64_t pass = 0; pass < options_.passes; ++pass) {
    for (const Image& image : images) {
      RandomStream random(key);
      maker.make(image, kView.crop, {}, random, view);
      ++key.position;
    }
  }
  return images_per_thread() / (cpu_seconds() - start);
}

/// Images per second of real time.
double ImagesBenchmark::time_all_threads() const {
  const std::size_t threads = session_.context.threads;
  ThreadPool pool(threads);
  const auto start = std::chrono::steady_clock::now();
  pool.for_each(threads, [&](std::size_t) {
    ImageReader reader;
    Image view;
    for (std::int64_t pass = 0; pass < options_.passes; ++pass) read_all_files(reader, view);
  });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return images_per_thread() * static_cast<double>(threads) / seconds.count();
}

double ImagesBenchmark::time_pillow() {
  std::vector<std::string> command = {options_.python, "-c", kPillowScript,
                                      (photos_.folder() / "views").string(),
                                      std::to_string(options_.passes)};
  for (const auto& file : photos_.files()) command.push_back(file.string());
  const std::string output = output_of(command, photos_.folder() / "output");
  const auto words = split(trim(output), ' ');
  const auto rate = words.size() == 2 ? parse_real(words[1]) : std::nullopt;
  if (!rate) throw UsageError(fmt::format("--python: unexpected output '{}'", output));
  pillow_version_ = words[0];
  return *rate;
}

/// A comparison of speeds is worth something only between equal results.
void ImagesBenchmark::compare_views() const {
  const std::string theirs = read_text_file(photos_.folder() / "views");
  std::string ours;
  ImageReader reader;
  Image view;
  for (const auto& file : photos_.files()) {
    reader.read_center_view(file, kView, view);
    ours.append(view.pixels.begin(), view.pixels.end());
  }
  if (ours != theirs) throw InternalError("our views differ from Pillow's");
}

void ImagesBenchmark::run() {
  const DecodeOptions exact, fast = decode_options({.fast_decode = true}, true, kView.short_side);
  time_one_core(exact);  // warms up the files and the clock
  for (std::int64_t i = 0; i < options_.runs; ++i) {
    one_core_.values.push_back(time_one_core(exact));
    if (options_.images.fast_decode) fast_.values.push_back(time_one_core(fast));
    strong_.values.push_back(time_strong_views());
    if (with_pillow()) pillow_.values.push_back(time_pillow());
    all_threads_.values.push_back(time_all_threads());
  }
  if (with_pillow()) compare_views();
}

nlohmann::json ImagesBenchmark::to_json() const {
  nlohmann::json result = {{"width", photos_.size().width},
                           {"height", photos_.size().height},
                           {"mean_file_bytes", photos_.mean_bytes()},
                           {"runs", options_.runs},
                           {"kernel", kernel_name()},
                           {"threads", session_.context.threads},
                           {"images_per_cpu_second", one_core_.to_json()},
                           {"images_per_second_all_threads", all_threads_.to_json()},
                           {"strong_views_per_cpu_second", strong_.to_json()}};
  if (!fast_.values.empty()) result["fast_decode_images_per_cpu_second"] = fast_.to_json();
  if (!pillow_.values.empty()) {
    result["pillow"] = {{"version", pillow_version_},
                        {"images_per_cpu_second", pillow_.to_json()},
                        {"same_pixels", true}};
    result["ratio_per_core"] = one_core_.median() / pillow_.median();
  }
  return result;
}

void ImagesBenchmark::print() const {
  if (session_.json()) {
    session_.print_json(to_json());
    return;
  }
  say("JPEG {}x{} (quality 90, {} on average): decode, resize to {}, crop {}; {} kernel\n",
      photos_.size().width, photos_.size().height, human_bytes(photos_.mean_bytes()),
      kView.short_side, kView.crop, kernel_name());
  say("{:26} {:>9} {:>9} {:>9}   ({} runs)\n", "images per second", "median", "lowest", "highest",
      options_.runs);
  say_lines(one_core_.row("protogcd, per core"));
  say_lines(all_threads_.row(fmt::format("protogcd, {} threads", session_.context.threads)));
  if (!fast_.values.empty()) say_lines(fast_.row("--fast-decode, per core"));
  say_lines(strong_.row("strong views, per core"));
  if (!pillow_.values.empty()) {
    say_lines(pillow_.row(fmt::format("Pillow {}, per core", pillow_version_)));
    say("{:.2f} times Pillow per core, same pixels\n", one_core_.median() / pillow_.median());
  }
  if (!fast_.values.empty()) {
    say("--fast-decode: {:.2f} times the exact path, not the same pixels\n",
        fast_.median() / one_core_.median());
  }
}

}  // namespace

Verb bench_images_verb() {
  return {.name = "bench images",
          .summary = "how fast image files become network input, beside Pillow",
          .example = "protogcd bench images --python python3",
          .declare = [](OptionTable& table) -> Action {
            auto options = std::make_shared<BenchImagesOptions>();
            table.add("python", &options->python, "a Python interpreter with Pillow to compare to")
                .value_name("PATH");
            declare_image_options(table, options->images);
            table.add("width", &options->width, "width of the photos, which are 4:3")
                .at_least(320)
                .at_most(8192);
            table.add("runs", &options->runs, "measurements of each, taken in turn")
                .at_least(5)
                .at_most(1000);
            table.add("passes", &options->passes, "times all files are read per measurement")
                .at_least(1)
                .at_most(10000);
            return [options](Session& session) {
              ImagesBenchmark benchmark(session, *options);
              benchmark.run();
              benchmark.print();
            };
          }};
}

}  // namespace protogcd::cli
