// A project of its own that judges clusters, without libtorch: accuracy as the field reports it.
#include <protogcd/analysis/accuracy.h>
#include <cstdint>
#include <iostream>
#include <vector>

int main() {
  // Six images: clusters that some method found, and their true classes, of which the first two are
  // old.
  const std::vector<std::int32_t> clusters = {4, 4, 0, 0, 2, 1}, classes = {0, 0, 1, 1, 2, 2};
  const protogcd::Confusion confusion(clusters, classes);
  const auto accuracy =
      protogcd::clustering_accuracy(confusion, protogcd::match_clusters(confusion),
                                    /*old_classes=*/2);
  std::cout << "All " << 100 * accuracy.all << ", Old " << 100 * accuracy.old_classes << ", New "
            << 100 * accuracy.new_classes << "\n";
}
