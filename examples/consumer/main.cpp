// A project of its own that uses the installed library: draws a half-labelled collection, discovers
// its classes, and predicts images with the model.
#include <protogcd/api/demo.h>
#include <protogcd/api/discover.h>
#include <protogcd/api/model.h>
#include <iostream>

int main(int, char** argv) {
  const std::filesystem::path folder = argv[1];
  protogcd::draw_demo(folder / "drawn", /*per_class=*/6);
  protogcd::DiscoverRequest request;
  request.labelled = folder / "drawn/labelled";
  request.unlabelled = folder / "drawn/unlabelled";
  request.out = folder / "run";
  request.k = 16;
  request.epochs = 2;
  const protogcd::RunResult found = protogcd::discover(request);
  const protogcd::Model model = protogcd::Model::load(found.out);
  const auto predicted = model.predict({folder / "drawn/unlabelled/00001.png"});
  std::cout << found.k << " classes; 00001.png is of class " << predicted.images[0].class_name
            << "\n";
}
