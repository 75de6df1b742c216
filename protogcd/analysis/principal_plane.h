// The projection of rows on the two directions in which they vary most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "protogcd/core/thread_pool.h"

namespace protogcd {

/// Of `features` [N, D] the first two principal components, [N, 2], the wider first, by iterations
/// of a random subspace: as exact as a start or a picture needs. Columns that do not vary are zero.
std::vector<float> principal_plane(std::span<const float> features, std::size_t dimension,
                                   std::uint64_t seed, ThreadPool& pool);

}  // namespace protogcd
