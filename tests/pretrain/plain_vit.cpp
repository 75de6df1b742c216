#include "tests/pretrain/plain_vit.h"

#include <fmt/core.h>

#include <cmath>

namespace protogcd::testing {
namespace {

using Rows = std::vector<Numbers>;

Numbers linear(const Numbers& x, const Numbers& weight, const Numbers& bias) {
  Numbers y(bias);
  for (std::size_t out = 0; out < y.size(); ++out) {
    for (std::size_t in = 0; in < x.size(); ++in) y[out] += weight[out * x.size() + in] * x[in];
  }
  return y;
}

Numbers norm(const Numbers& x, const Numbers& weight, const Numbers& bias, double epsilon) {
  const auto count = static_cast<double>(x.size());
  double mean = 0, variance = 0;
  for (const double value : x) mean += value / count;
  for (const double value : x) variance += (value - mean) * (value - mean) / count;
  Numbers y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    y[i] = (x[i] - mean) / std::sqrt(variance + epsilon) * weight[i] + bias[i];
  return y;
}

double gelu(double x) {
  return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0)));
}

double length(const Numbers& x, std::size_t first, std::size_t count) {
  double sum = 0;
  for (std::size_t i = first; i < first + count; ++i) sum += x[i] * x[i];
  return std::sqrt(sum);
}

/// qkv of every token [3D] to the mixture of values [D] of every token.
Rows attend(const Rows& qkv, std::size_t heads) {
  const std::size_t width = qkv[0].size() / 3, part = width / heads;
  Rows mixed(qkv.size(), Numbers(width, 0));
  for (std::size_t head = 0; head < heads; ++head) {
    for (std::size_t i = 0; i < qkv.size(); ++i) {
      Numbers weights;
      double sum = 0;
      for (const Numbers& other : qkv) {
        double score = 0;
        for (std::size_t c = head * part; c < (head + 1) * part; ++c)
          score += qkv[i][c] * other[width + c];
        weights.push_back(std::exp(score / std::sqrt(static_cast<double>(part))));
        sum += weights.back();
      }
      for (std::size_t j = 0; j < qkv.size(); ++j) {
        for (std::size_t c = head * part; c < (head + 1) * part; ++c)
          mixed[i][c] += weights[j] / sum * qkv[j][2 * width + c];
      }
    }
  }
  return mixed;
}

void add(Numbers& x, const Numbers& branch, double factor) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += factor * branch[i];
}

}  // namespace

Numbers PlainClassifier::features(const Numbers& image, const Numbers& factors) const {
  const auto get = [&](const std::string& name) -> const Numbers& {
    return values.at("network." + name);
  };
  const auto width = static_cast<std::size_t>(config.width);
  const auto patch = static_cast<std::size_t>(config.patch),
             grid = static_cast<std::size_t>(config.grid), size = patch * grid;
  const Numbers& positions = get("pos_embed");
  Rows tokens = {get("cls_token")};
  for (std::size_t row = 0; row < grid; ++row) {
    for (std::size_t column = 0; column < grid; ++column) {
      Numbers pixels;
      for (std::size_t c = 0; c < 3; ++c) {
        for (std::size_t y = 0; y < patch; ++y) {
          for (std::size_t x = 0; x < patch; ++x)
            pixels.push_back(image[(c * size + row * patch + y) * size + column * patch + x]);
        }
      }
      tokens.push_back(
          linear(pixels, get("patch_embed.proj.weight"), get("patch_embed.proj.bias")));
    }
  }
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    for (std::size_t c = 0; c < width; ++c) tokens[t][c] += positions[t * width + c];
  }
  for (std::int64_t i = 0; i < config.depth; ++i) {
    const std::string block = fmt::format("blocks.{}.", i);
    const auto through = [&](const std::string& name, const Numbers& x) {
      return linear(x, get(block + name + ".weight"), get(block + name + ".bias"));
    };
    const auto normed = [&](const std::string& name, const Numbers& x) {
      return norm(x, get(block + name + ".weight"), get(block + name + ".bias"), config.epsilon);
    };
    Rows qkv;
    for (const Numbers& token : tokens) qkv.push_back(through("attn.qkv", normed("norm1", token)));
    const Rows mixed = attend(qkv, static_cast<std::size_t>(config.heads));
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      add(tokens[t], through("attn.proj", mixed[t]), factors[2 * i]);
      Numbers inner = through("mlp.fc1", normed("norm2", tokens[t]));
      for (double& value : inner) value = gelu(value);
      add(tokens[t], through("mlp.fc2", inner), factors[2 * i + 1]);
    }
  }
  return norm(tokens[0], get("norm.weight"), get("norm.bias"), config.epsilon);
}

double PlainClassifier::loss(const std::vector<Numbers>& images,
                             const std::vector<std::int64_t>& labels,
                             const std::vector<Numbers>& factors) const {
  const Numbers& directions = values.at("method.classifier.weight");
  const auto width = static_cast<std::size_t>(config.width);
  const std::size_t classes = directions.size() / width;
  double total = 0;
  for (std::size_t i = 0; i < images.size(); ++i) {
    const Numbers x = features(images[i], factors[i]);
    Numbers logits;
    double sum = 0;
    for (std::size_t k = 0; k < classes; ++k) {
      double product = 0;
      for (std::size_t c = 0; c < width; ++c) product += x[c] * directions[k * width + c];
      logits.push_back(scale * product / length(x, 0, width) /
                       length(directions, k * width, width));
      sum += std::exp(logits.back());
    }
    for (std::size_t k = 0; k < classes; ++k) {
      const double target = smoothing / static_cast<double>(classes) +
                            (static_cast<std::int64_t>(k) == labels[i] ? 1 - smoothing : 0);
      total -= target * (logits[k] - std::log(sum));
    }
  }
  return total / static_cast<double>(images.size());
}

std::map<std::string, Numbers> PlainClassifier::gradient(const std::vector<Numbers>& images,
                                                         const std::vector<std::int64_t>& labels,
                                                         const std::vector<Numbers>& factors) {
  constexpr double kStep = 1e-5;
  std::map<std::string, Numbers> result;
  for (auto& [name, numbers] : values) {
    for (double& value : numbers) {
      const double before = value;
      value = before + kStep;
      const double above = loss(images, labels, factors);
      value = before - kStep;
      const double below = loss(images, labels, factors);
      value = before;
      result[name].push_back((above - below) / (2 * kStep));
    }
  }
  return result;
}

}  // namespace protogcd::testing
