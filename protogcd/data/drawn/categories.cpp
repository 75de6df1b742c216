#include "protogcd/data/drawn/categories.h"

#include <cmath>
#include <numbers>

namespace protogcd::drawn {
namespace {

constexpr double kPi = std::numbers::pi;

Shape draw_star(RandomStream& random) {
  return Shape().add(star({0, 0.05}, 5, random.uniform(0.36, 0.5), 1));
}

Shape draw_key(RandomStream& random) {
  const double bow = random.uniform(0.34, 0.42), shaft = random.uniform(0.07, 0.11);
  Shape key;
  key.add(circle({-0.55, 0}, bow)).cut(circle({-0.55, 0}, bow * random.uniform(0.45, 0.6)));
  key.add(rectangle(-0.55 + bow * 0.9, -shaft, 0.95, shaft));
  for (const double x : {0.5, 0.8}) key.add(rectangle(x, 0, x + 0.13, random.uniform(0.25, 0.4)));
  return key;
}

Shape draw_fish(RandomStream& random) {
  const double height = random.uniform(0.34, 0.44), tail = random.uniform(0.32, 0.45);
  Shape fish;
  fish.add(ellipse({0.2, 0}, 0.7, height));
  fish.add({{-0.3, 0}, {-0.95, -tail}, {-0.75, 0}, {-0.95, tail}});
  fish.add({{-0.05, -height * 0.8}, {0.15, -height - 0.25}, {0.45, -height * 0.75}});
  return fish.cut(circle({0.58, -0.1}, 0.075));
}

Shape draw_mug(RandomStream& random) {
  const double top = random.uniform(-0.75, -0.6), handle = random.uniform(0.3, 0.38);
  Shape mug;
  mug.add(circle({0.4, 0.02}, handle + 0.08)).cut(circle({0.4, 0.02}, handle - 0.1));
  return mug.add(rounded_rectangle(-0.75, top, 0.4, 0.75, 0.12));
}

Shape draw_heart(RandomStream& random) {
  const double depth = random.uniform(4, 6);
  Polygon outline;
  for (int i = 0; i < 64; ++i) {
    const double t = 2 * kPi * i / 64, s = std::sin(t);
    const double y =
        13 * std::cos(t) - depth * std::cos(2 * t) - 2 * std::cos(3 * t) - std::cos(4 * t);
    outline.push_back({s * s * s * 0.95, -(y + 3) / 16});
  }
  return Shape().add(outline);
}

Shape draw_house(RandomStream& random) {
  const double eaves = random.uniform(-0.25, -0.05), door = random.uniform(-0.35, 0.1);
  Shape house;
  house.add(rectangle(0.35, -0.85, 0.58, -0.1));
  house.add(rectangle(-0.68, eaves, 0.68, 0.9));
  house.add({{-0.95, eaves}, {0, -0.95}, {0.95, eaves}});
  house.cut(rectangle(door, 0.35, door + 0.3, 0.9));
  return house.cut(rectangle(door > -0.1 ? -0.5 : 0.2, 0.15, door > -0.1 ? -0.2 : 0.5, 0.42));
}

Shape draw_bolt(RandomStream& random) {
  const double lean = random.uniform(-0.08, 0.08);
  return Shape().add({{0.1 + lean, -1},
                      {-0.6, 0.15},
                      {-0.1, 0.1},
                      {-0.35 - lean, 1},
                      {0.6, -0.3},
                      {0.08, -0.22},
                      {0.5 + lean, -1}});
}

Shape draw_cross(RandomStream& random) {
  const double half = random.uniform(0.2, 0.34), long_arm = random.uniform(0.8, 0.95);
  return Shape()
      .add(rectangle(-half, -0.95, half, 0.95))
      .add(rectangle(-long_arm, -half, long_arm, half));
}

Shape draw_umbrella(RandomStream& random) {
  const double bottom = random.uniform(-0.05, 0.1);
  Shape umbrella;
  umbrella.add(ring_sector({0, bottom}, 0, 0.95, kPi, 2 * kPi));
  for (const double x : {-0.63, 0.0, 0.63}) umbrella.cut(ellipse({x, bottom + 0.04}, 0.29, 0.2));
  umbrella.add(rectangle(-0.05, bottom - 0.6, 0.05, 0.75));
  umbrella.add(ring_sector({0.18, 0.72}, 0.12, 0.24, 0, kPi));
  return umbrella.add(rectangle(-0.05, -0.99, 0.05, bottom - 0.8));
}

Shape draw_gear(RandomStream& random) {
  const auto teeth = static_cast<int>(random.between(8, 10));
  Shape gear;
  gear.add(circle({0, 0}, 0.72));
  for (int i = 0; i < teeth; ++i) {
    const double angle = 2 * kPi * i / teeth;
    gear.add(bar({0.5 * std::cos(angle), 0.5 * std::sin(angle)},
                 {0.98 * std::cos(angle), 0.98 * std::sin(angle)}, 0.24));
  }
  return gear.cut(circle({0, 0}, random.uniform(0.22, 0.34)));
}

Shape draw_leaf(RandomStream& random) {
  const double width = random.uniform(0.42, 0.6);
  Polygon blade;
  for (int side : {1, -1}) {
    for (int i = 0; i < 24; ++i) {
      const double t = side > 0 ? i / 24.0 : 1 - i / 24.0;
      blade.push_back(
          {side * width * std::pow(std::sin(kPi * t), 1.3) * (0.7 + 0.6 * t), -0.95 + 1.5 * t});
    }
  }
  Shape leaf;
  leaf.add(blade).cut(bar({0, -0.6}, {0, 0.5}, 0.07));
  for (const double y : {-0.25, 0.05, 0.3}) {
    leaf.cut(bar({0, y + 0.12}, {width * 0.6, y - 0.15}, 0.05))
        .cut(bar({0, y + 0.12}, {-width * 0.6, y - 0.15}, 0.05));
  }
  return leaf.add(bar({0, 0.48}, {random.uniform(-0.1, 0.1), 1}, 0.1));
}

Shape draw_arrow(RandomStream& random) {
  const double shaft = random.uniform(0.14, 0.22), head = random.uniform(0.0, 0.25);
  return Shape()
      .add(rectangle(-0.95, -shaft, head + 0.1, shaft))
      .add({{head, -0.62}, {0.98, 0}, {head, 0.62}});
}

Shape draw_moon(RandomStream& random) {
  return Shape()
      .add(circle({0, 0}, 0.95))
      .cut(circle({random.uniform(0.38, 0.55), -0.12}, random.uniform(0.72, 0.8)));
}

Shape draw_pine(RandomStream& random) {
  const double width = random.uniform(0.65, 0.8);
  Shape pine;
  pine.add(rectangle(-0.12, 0.6, 0.12, 0.98));
  pine.add({{0, -0.98}, {width * 0.6, -0.3}, {-width * 0.6, -0.3}});
  pine.add({{0, -0.6}, {width * 0.82, 0.2}, {-width * 0.82, 0.2}});
  return pine.add({{0, -0.2}, {width, 0.7}, {-width, 0.7}});
}

Shape draw_hourglass(RandomStream& random) {
  const double waist = random.uniform(0.06, 0.14), half = random.uniform(0.55, 0.68);
  Shape glass;
  glass.add({{-half, -0.85}, {half, -0.85}, {waist, 0}, {half, 0.85}, {-half, 0.85}, {-waist, 0}});
  return glass.add(rectangle(-half - 0.12, -0.97, half + 0.12, -0.78))
      .add(rectangle(-half - 0.12, 0.78, half + 0.12, 0.97));
}

Shape draw_flower(RandomStream& random) {
  const auto petals = static_cast<int>(random.between(5, 6));
  const Point centre = {0, -0.35};
  Shape flower;
  flower.add(rectangle(-0.06, 0, 0.06, 1)).add(ellipse({0.28, 0.62}, 0.3, 0.12, -0.6));
  flower.add(ellipse({-0.26, 0.75}, 0.28, 0.11, 0.6));
  for (int i = 0; i < petals; ++i) {
    const double angle = 2 * kPi * i / petals - kPi / 2;
    flower.add(
        circle({centre.x + 0.36 * std::cos(angle), centre.y + 0.36 * std::sin(angle)}, 0.27));
  }
  return flower.cut(circle(centre, random.uniform(0.13, 0.18)));
}

Shape draw_bottle(RandomStream& random) {
  const double half = random.uniform(0.32, 0.42), neck = random.uniform(0.11, 0.16),
               shoulder = random.uniform(-0.3, -0.1);
  Shape bottle;
  bottle.add(rounded_rectangle(-half, shoulder + 0.15, half, 0.98, 0.1));
  bottle.add({{-neck, shoulder - 0.2},
              {neck, shoulder - 0.2},
              {half, shoulder + 0.26},
              {-half, shoulder + 0.26}});
  bottle.add(rectangle(-neck, -0.85, neck, shoulder))
      .add(rectangle(-neck - 0.06, -0.98, neck + 0.06, -0.8));
  return bottle.cut(rectangle(-half + 0.1, 0.3, half - 0.1, 0.62));
}

Shape draw_hammer(RandomStream& random) {
  const double handle = random.uniform(0.08, 0.12);
  Shape hammer;
  hammer.add(rectangle(-handle, -0.6, handle, 0.98)).add(rectangle(-0.5, -0.9, 0.3, -0.45));
  hammer.add(rectangle(-0.72, -0.95, -0.45, -0.4));
  return hammer.add({{0.25, -0.9}, {0.85, -0.55}, {0.8, -0.42}, {0.25, -0.5}});
}

Shape draw_car(RandomStream& random) {
  const double roof = random.uniform(-0.6, -0.45);
  Shape car;
  car.add(rounded_rectangle(-0.98, -0.12, 0.98, 0.38, 0.12));
  car.add({{-0.62, -0.1}, {-0.38, roof}, {0.3, roof}, {0.62, -0.1}});
  car.cut({{-0.45, -0.12}, {-0.3, roof + 0.12}, {-0.06, roof + 0.12}, {-0.06, -0.12}});
  car.cut({{0.06, -0.12}, {0.06, roof + 0.12}, {0.24, roof + 0.12}, {0.46, -0.12}});
  for (const double x : {-0.52, 0.52})
    car.cut(circle({x, 0.4}, 0.3)).add(circle({x, 0.4}, 0.23)).cut(circle({x, 0.4}, 0.08));
  return car;
}

Shape draw_wheel(RandomStream& random) {
  const auto spokes = static_cast<int>(random.between(3, 4)) * 2;
  Shape wheel;
  wheel.add(circle({0, 0}, 0.98)).cut(circle({0, 0}, random.uniform(0.76, 0.82)));
  for (int i = 0; i < spokes; ++i) {
    const double angle = 2 * kPi * i / spokes;
    wheel.add(bar({0, 0}, {0.85 * std::cos(angle), 0.85 * std::sin(angle)}, 0.09));
  }
  return wheel.add(circle({0, 0}, 0.2));
}

constexpr Category kCategories[] = {
    {"star", CategoryRole::kOld, draw_star},
    {"key", CategoryRole::kOld, draw_key},
    {"fish", CategoryRole::kOld, draw_fish},
    {"mug", CategoryRole::kOld, draw_mug},
    {"heart", CategoryRole::kOld, draw_heart},
    {"house", CategoryRole::kOld, draw_house},
    {"bolt", CategoryRole::kOld, draw_bolt},
    {"cross", CategoryRole::kOld, draw_cross},
    {"umbrella", CategoryRole::kOld, draw_umbrella},
    {"gear", CategoryRole::kOld, draw_gear},
    {"leaf", CategoryRole::kNew, draw_leaf},
    {"arrow", CategoryRole::kNew, draw_arrow},
    {"moon", CategoryRole::kNew, draw_moon},
    {"pine", CategoryRole::kNew, draw_pine},
    {"hourglass", CategoryRole::kNew, draw_hourglass},
    {"flower", CategoryRole::kNew, draw_flower},
    {"bottle", CategoryRole::kOutlier, draw_bottle},
    {"hammer", CategoryRole::kOutlier, draw_hammer},
    {"car", CategoryRole::kOutlier, draw_car},
    {"wheel", CategoryRole::kOutlier, draw_wheel},
};

}  // namespace

std::span<const Category> demo_categories() {
  return kCategories;
}

}  // namespace protogcd::drawn
