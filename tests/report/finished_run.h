// A finished run as the report reads it, made without any training.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace protogcd::testing {

/// A name that attacks the page.
inline const std::string kHostile =
    "<img src=x onerror=\"window.hacked=1\">\t,\n</script><script>window.hacked=2//";
inline constexpr int kImages = 80, kWidth = 8;

/// What a run's tables call things. The first half of the classes is known, the second new.
struct RunNames {
  std::vector<std::string> classes, truths;  ///< as many of each
  std::function<std::string(int)> image;     ///< its path, by its number
};

/// Four classes, of which one has a name that attacks the page.
RunNames usual_names();
/// All of hostile_names.json as names of classes, as truths and in paths of images, which for one
/// image are no UTF-8.
RunNames hostile_names();

/// The folder of a finished run that was never trained. Older versions told neither the likeliest
/// classes nor what to label next.
void write_run(const std::filesystem::path& run, bool older = false,
               const RunNames& names = usual_names());

}  // namespace protogcd::testing
