// Where the tokens of a bank lie: in memory, or in files that survive restarts and kills. A bank
// has V slots; a slot holds one view of every image, and is filled block by block.
#pragma once

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "protogcd/core/log.h"
#include "protogcd/engine/trunk.h"

namespace protogcd {

struct BankLayout {
  std::int64_t views = 2;            ///< V
  std::int64_t images = 0;           ///< N
  std::int64_t tokens = 0;           ///< T
  std::int64_t width = 0;            ///< D
  at::ScalarType type = at::kFloat;  ///< of the tokens: the trunk's
  bool with_class_token = true;      ///< not where more than the last block is trained
  std::int64_t block = 16;           ///< images that are computed and stored together

  at::ScalarType class_type() const { return type == at::kDouble ? at::kDouble : at::kFloat; }
  std::int64_t blocks() const { return (images + block - 1) / block; }
  std::int64_t rows_of(std::int64_t index) const { return std::min(block, images - index * block); }
  std::uint64_t token_row_bytes() const;
  std::uint64_t class_row_bytes() const;
  /// Of one slot.
  std::uint64_t view_bytes() const;
  std::uint64_t bytes() const { return static_cast<std::uint64_t>(views) * view_bytes(); }
};

class BankStore {
 public:
  explicit BankStore(const BankLayout& layout) : layout_(layout) {}
  virtual ~BankStore() = default;
  BankStore(const BankStore&) = delete;
  BankStore& operator=(const BankStore&) = delete;

  const BankLayout& layout() const { return layout_; }

  /// From now on the slot holds what `key` names; content of another key is forgotten.
  virtual void use(std::int64_t slot, const std::string& key) = 0;
  virtual bool has(std::int64_t slot, std::int64_t block) const = 0;
  /// Tokens of a block's images, on any device.
  virtual void put(std::int64_t slot, std::int64_t block, const TrunkTokens& tokens) = 0;
  /// What was put is kept, if this store outlives the process.
  virtual void flush() {}
  virtual bool survives() const { return false; }
  /// These rows will be read soon.
  virtual void expect(std::int64_t /*slot*/, std::int64_t /*image*/) const {}

  /// [N, T, D] and [N, D] (undefined without class tokens), where the bank lies.
  virtual at::Tensor tokens(std::int64_t slot) const = 0;
  virtual at::Tensor class_tokens(std::int64_t slot) const = 0;
  /// All slots as one, [V N, T D] and [V N, D]; undefined where they are apart.
  virtual at::Tensor all_tokens() const { return {}; }
  virtual at::Tensor all_class_tokens() const { return {}; }

 private:
  BankLayout layout_;
};

/// In the memory of a device (the CPU's: host memory). Pinned memory of the host is what a GPU
/// reads by itself.
std::unique_ptr<BankStore> make_memory_bank(const BankLayout& layout, at::Device device,
                                            bool pinned = false);

/// In files of `folder`, mapped into memory for reading. `identity` says what the tokens depend on,
/// by name; what was made for another identity is made anew, and said so, and what differs. Each
/// block is checksummed: a damaged one is named and forgotten, alone. Blocks are flushed before the
/// journal says that they are there. FileError where another process uses the folder.
std::unique_ptr<BankStore> open_file_bank(const BankLayout& layout,
                                          const std::filesystem::path& folder,
                                          const std::map<std::string, std::string>& identity,
                                          const Logger& log);

}  // namespace protogcd
