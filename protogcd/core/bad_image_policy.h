// What --bad-images and --max-bad say: how many unreadable images a task bears.
#pragma once

#include <cstddef>
#include <string_view>

namespace protogcd {

/// How many bad images a task bears.
class BadImagePolicy {
 public:
  /// `mode` is skip or fail; `limit` a share ("1%", "0.5%"), a number ("20") or auto: 1%, but at
  /// least 5. UsageError otherwise.
  static BadImagePolicy parse(std::string_view mode, std::string_view limit);

  /// Whether `parse` would take this limit.
  static bool is_limit(std::string_view limit);
  static constexpr const char* kLimitWords =
      "a share of 0% to 100% (as 1%), a number of images, or auto";
  static constexpr const char* kUsualLimit = "auto";

  bool fails_at_once() const { return fail_; }
  /// The most bad images that `total` images may have.
  std::size_t allowed(std::size_t total) const;

 private:
  bool take_limit(std::string_view limit);

  bool fail_ = false;
  double share_ = 0;       ///< of the total, or
  std::size_t count_ = 0;  ///< so many, whichever is more
};

}  // namespace protogcd
