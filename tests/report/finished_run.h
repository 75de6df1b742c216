// A finished run as the report reads it, made without any training.
#pragma once

#include <filesystem>
#include <string>

namespace protogcd::testing {

/// A name that attacks the page.
inline const std::string kHostile =
    "<img src=x onerror=\"window.hacked=1\">\t,\n</script><script>window.hacked=2//";
inline constexpr int kImages = 80, kWidth = 8;

/// The folder of a finished run that was never trained: four classes, of which one has a name that
/// attacks the page. Older versions told neither the likeliest classes nor what to label next.
void write_run(const std::filesystem::path& run, bool older = false);

}  // namespace protogcd::testing
