#include "protogcd/report/page_images.h"

#include <algorithm>
#include <functional>

namespace protogcd {
namespace {

/// The most and the least typical images of each class, as many as a card shows.
std::vector<std::size_t> images_of_cards(const RunImages& images, std::size_t classes) {
  constexpr std::size_t kShownOfClass = 4;
  std::vector<std::vector<std::size_t>> members(classes);
  for (std::size_t i = 0; i < images.path.size(); ++i)
    members[static_cast<std::size_t>(images.label[i])].push_back(i);
  std::vector<std::size_t> chosen;
  for (auto& list : members) {
    std::ranges::stable_sort(list, std::greater(),
                             [&](std::size_t i) { return images.typicality[i]; });
    const std::size_t count = std::min(kShownOfClass, list.size());
    chosen.insert(chosen.end(), list.begin(), list.begin() + static_cast<std::ptrdiff_t>(count));
    chosen.insert(chosen.end(), list.end() - static_cast<std::ptrdiff_t>(count), list.end());
  }
  return chosen;
}

/// Numbers below `total`, each once, in the order in which they are first taken.
class Choice {
 public:
  explicit Choice(std::size_t total) : taken_(total) {}

  void take(std::size_t image) {
    if (!taken_[image]) order_.push_back(image);
    taken_[image] = true;
  }
  const std::vector<std::size_t>& order() const { return order_; }

 private:
  std::vector<bool> taken_;
  std::vector<std::size_t> order_;
};

template <class T>
void keep(std::vector<T>& values, const std::vector<std::size_t>& rows, std::size_t width = 1) {
  std::vector<T> kept;
  kept.reserve(rows.size() * width);
  for (const std::size_t row : rows)
    for (std::size_t i = 0; i < width; ++i) kept.push_back(std::move(values[row * width + i]));
  values = std::move(kept);
}

}  // namespace

std::vector<std::size_t> thumbnail_order(const RunImages& images, std::size_t classes) {
  Choice choice(images.path.size());
  for (const std::size_t image : images_of_cards(images, classes)) choice.take(image);
  for (std::size_t i = 0; i < images.path.size(); ++i)
    if (images.is_outlier[i]) choice.take(i);
  for (std::size_t i = 0; i < images.path.size(); ++i) choice.take(i);
  return choice.order();
}

RunContents page_sample(RunContents run, std::size_t most) {
  const std::size_t total = run.images.path.size();
  Choice choice(total);
  for (const QueueEntry& next : run.queue) choice.take(next.image);
  if (run.attention)
    for (const std::int64_t image : run.attention->images)
      choice.take(static_cast<std::size_t>(image));
  if (run.embeddings)
    for (const std::int64_t row : run.embeddings->rows) choice.take(static_cast<std::size_t>(row));
  for (const std::size_t image : images_of_cards(run.images, run.classes.size()))
    choice.take(image);
  const std::size_t others = most - std::min(most, choice.order().size());
  for (std::size_t i = 0; i < others; ++i) choice.take(i * total / others);
  std::vector<std::size_t> rows = choice.order();
  std::ranges::sort(rows);

  std::vector<std::size_t> places(total);
  for (std::size_t i = 0; i < rows.size(); ++i) places[rows[i]] = i;
  const auto renumber = [&](std::vector<std::int64_t>& numbers) {
    for (std::int64_t& number : numbers)
      number = static_cast<std::int64_t>(places[static_cast<std::size_t>(number)]);
  };
  for (QueueEntry& next : run.queue) next.image = places[next.image];
  if (run.attention) renumber(run.attention->images);
  if (run.embeddings) {
    renumber(run.embeddings->rows);
    keep(run.embeddings->truths, rows);
  }
  RunImages& images = run.images;
  keep(images.path, rows);
  keep(images.label, rows);
  keep(images.truth, rows);
  keep(images.confidence, rows);
  keep(images.typicality, rows);
  keep(images.outlier_score, rows);
  keep(images.is_new, rows);
  keep(images.is_outlier, rows);
  keep(images.likely_class, rows, images.likeliest);
  keep(images.probability, rows, images.likeliest);
  keep(run.located.files, rows);
  return run;
}

}  // namespace protogcd
