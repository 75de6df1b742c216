// Mutations that know a format, for targets where random bytes hardly get past the first check: the
// result is a well-formed file with something else in it. libFuzzer's own take turns with them.
//
//   PROTOGCD_MUTATED_BY(mutate_csv)   in a target, whose replay program leaves it out
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace protogcd::fuzz {

using Random = std::minstd_rand;

/// A whole input; libFuzzer's own mutation of it where it is not of the format.
using Mutation = std::string (*)(std::string_view input, Random& random);

std::string mutate_bytes(std::string_view input, Random& random);
std::string mutate_lines(std::string_view input, Random& random);
std::string mutate_csv(std::string_view input, Random& random);
std::string mutate_json(std::string_view input, Random& random);
/// One of the files of sections.h, by the ending of its name.
std::string mutate_sections(std::string_view input, Random& random);

std::string mutate_pickle(std::string_view input, Random& random);
std::string mutate_pth(std::string_view input, Random& random);
std::string mutate_safetensors(std::string_view input, Random& random);
std::string mutate_tar(std::string_view input, Random& random);
std::string mutate_tiff(std::string_view input, Random& random);

std::size_t mutate_in_place(Mutation mutation, std::uint8_t* data, std::size_t size,
                            std::size_t most, unsigned seed);

/// Below `count`, which is not 0.
inline std::size_t draw(Random& random, std::size_t count) {
  return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
}

template <class List>
auto& one_of(List& list, Random& random) {
  return list[draw(random, std::size(list))];
}

}  // namespace protogcd::fuzz

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define PROTOGCD_MUTATED_BY(mutation)                                                         \
  extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,        \
                                                 std::size_t most, unsigned seed) {           \
    return protogcd::fuzz::mutate_in_place(protogcd::fuzz::mutation, data, size, most, seed); \
  }
#else
#define PROTOGCD_MUTATED_BY(mutation)
#endif
