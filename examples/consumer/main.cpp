// A project of its own that uses the installed library: which half of CIFAR-10's old images carries
// labels?
#include <protogcd/core/numpy_random.h>
#include <iostream>

int main() {
  const auto labelled = protogcd::NumpyRandom(0).choice(25000, 12500);
  std::cout << "first labelled image: " << labelled.front() << "\n";
}
