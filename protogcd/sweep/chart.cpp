// The chart of a sweep as SVG: lines with markers over numbers, markers alone over names, bars for
// the deviation over seeds, the paper's numbers hollow and dashed in the same colour.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "protogcd/core/text.h"
#include "protogcd/sweep/results.h"

namespace protogcd {
namespace {

constexpr double kWidth = 760, kPlotHeight = 300, kLeft = 64, kRight = 28;
constexpr double kLetter = 7.2;  ///< width of a letter at 13 pixels, about
// Okabe and Ito's colours, which most people can tell apart.
constexpr std::array kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                 "#8a6d00", "#56b4e9", "#444444"};

std::string xml(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += static_cast<unsigned char>(letter) < 0x20 ? ' ' : letter;
    }
  }
  return escaped;
}

double text_width(std::string_view text) {
  return kLetter * static_cast<double>(std::ranges::count_if(text, [](char letter) {
           return (static_cast<unsigned char>(letter) & 0xC0) != 0x80;
         }));
}

/// Words in lines of at most so many pixels; a word that is longer has a line of its own.
std::vector<std::string> wrapped(const std::string& text, double width) {
  std::vector<std::string> lines;
  for (const std::string& word : split(text, ' ')) {
    if (lines.empty() || text_width(lines.back()) + text_width(word) + kLetter > width) {
      lines.push_back(word);
    } else {
      lines.back() += fmt::format(" {}", word);
    }
  }
  return lines;
}

struct ChartPoint {
  std::size_t x = 0;  ///< position on the axis
  double value = 0, deviation = 0;
};

struct Series {
  std::string name;
  std::vector<ChartPoint> ours, paper;
};

std::vector<Series> series_of(const SweepResults& results, const SweepChart& chart) {
  const SweepFile& file = *results.file;
  const auto fill = [&](Series& series, std::size_t column, std::size_t line) {
    for (std::size_t x = 0; x < file.axes[chart.x].points.size(); ++x) {
      std::vector<std::size_t> at(file.axes.size(), 0);
      at[chart.x] = x;
      if (chart.lines) at[*chart.lines] = line;
      const Spread spread = results.spread(at, column);
      if (spread.count > 0) series.ours.push_back({x, spread.mean, spread.deviation});
      const auto paper = file.paper.find(at);
      if (paper != file.paper.end() && !std::isnan(paper->second[column]))
        series.paper.push_back({x, paper->second[column], 0});
    }
  };
  std::vector<Series> list;
  if (chart.lines) {
    const SweepAxis& lines = file.axes[*chart.lines];
    for (std::size_t i = 0; i < lines.points.size(); ++i) {
      list.push_back({.name = lines.points[i].label, .ours = {}, .paper = {}});
      fill(list.back(), chart.columns.front(), i);
    }
  } else {
    for (const std::size_t column : chart.columns) {
      list.push_back({.name = file.columns[column].name, .ours = {}, .paper = {}});
      fill(list.back(), column, 0);
    }
  }
  return list;
}

/// Ticks at round numbers that enclose the values.
struct Scale {
  double low = 0, high = 1, step = 0.2;

  explicit Scale(const std::vector<Series>& list) {
    double least = INFINITY, most = -INFINITY;
    for (const Series& series : list) {
      for (const auto* points : {&series.ours, &series.paper}) {
        for (const ChartPoint& point : *points) {
          least = std::min(least, point.value - point.deviation);
          most = std::max(most, point.value + point.deviation);
        }
      }
    }
    if (!(least <= most)) return;
    const double range = std::max(most - least, std::max(1e-9, 0.02 * std::abs(most)));
    const double rough = range / 5, power = std::pow(10, std::floor(std::log10(rough)));
    step = 10 * power;
    for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
      if (factor * power >= rough) {
        step = factor * power;
        break;
      }
    }
    low = step * std::floor(least / step);
    high = step * std::ceil(most / step);
    if (high <= low) high = low + step;
  }
};

class Drawing {
 public:
  Drawing(const SweepResults& results, const SweepChart& chart)
      : file_(*results.file), chart_(chart), list_(series_of(results, chart)), scale_(list_) {
    place_points();
    place_legend();
  }

  std::string svg() {
    draw_axes();
    for (std::size_t i = 0; i < list_.size(); ++i) draw(i);
    draw_legend();
    const double height = bottom() + label_height_ + 46;
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"system-ui, 'Segoe UI', Helvetica, Arial, "
        "sans-serif\" font-size=\"13\" fill=\"#1f2933\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
        "<text x=\"{2}\" y=\"30\" font-size=\"16\" font-weight=\"600\">{3}</text>\n"
        "{4}<text x=\"{5:.1f}\" y=\"{6:.1f}\" text-anchor=\"middle\">{7}</text>\n"
        "<text transform=\"translate(18 {8:.1f}) rotate(-90)\" text-anchor=\"middle\">{9}</text>\n"
        "</svg>\n",
        kWidth, height, kLeft, xml(file_.title), body_, (kLeft + kWidth - kRight) / 2, height - 14,
        xml(axis().name), (top_ + bottom()) / 2, xml(y_title()));
  }

 private:
  const SweepAxis& axis() const { return file_.axes[chart_.x]; }
  double bottom() const { return top_ + kPlotHeight; }
  double y(double value) const {
    return bottom() - kPlotHeight * (value - scale_.low) / (scale_.high - scale_.low);
  }
  std::string y_title() const {
    return chart_.columns.size() == 1 ? file_.columns[chart_.columns.front()].name : "";
  }

  /// Where each point of the axis lies, 0 to 1; names stand in the middle of bands.
  void place_points() {
    std::vector<double> numbers;
    for (const SweepPoint& point : axis().points) {
      longest_label_ = std::max(longest_label_, text_width(point.label));
      const auto number = parse_real(point.label);
      if (number) numbers.push_back(*number);
    }
    const std::size_t count = axis().points.size();
    numeric_ = numbers.size() == count && count > 1 && std::ranges::is_sorted(numbers);
    const double span = kWidth - kLeft - kRight;
    band_ = span / static_cast<double>(count);
    for (std::size_t i = 0; i < count; ++i) {
      const double share =
          numeric_ && !chart_.even
              ? 0.03 + 0.94 * (numbers[i] - numbers.front()) / (numbers.back() - numbers.front())
              : (static_cast<double>(i) + 0.5) / static_cast<double>(count);
      x_.push_back(kLeft + span * share);
    }
    place_labels();
  }

  /// Names stand below their bands, in several lines where they are long, and slanted where that
  /// is not enough.
  void place_labels() {
    for (const SweepPoint& point : axis().points) {
      labels_.push_back(numeric_ ? std::vector{point.label} : wrapped(point.label, band_ - 8));
      label_height_ = std::max(label_height_, 16.0 * static_cast<double>(labels_.back().size()));
      for (const std::string& line : labels_.back())
        turned_ = turned_ || (!numeric_ && text_width(line) + 8 > band_);
    }
    if (turned_ || label_height_ > 50) {
      turned_ = true;
      label_height_ = 0.6 * longest_label_;
    }
  }

  /// Entries side by side, in as many lines as they need.
  void place_legend() {
    double x = kLeft, y = 54;
    std::vector<std::string> entries;
    for (const Series& series : list_) entries.push_back(series.name);
    if (std::ranges::any_of(list_, [](const Series& series) { return !series.paper.empty(); }))
      entries.push_back("paper");
    for (const std::string& entry : entries) {
      const double width = 34 + text_width(entry) + 18;
      if (x > kLeft && x + width > kWidth - kRight) {
        x = kLeft;
        y += 20;
      }
      legend_.push_back({x, y, entry});
      x += width;
    }
    top_ = y + 22;
  }

  void draw_axes() {
    const int digits = std::max(0, static_cast<int>(-std::floor(std::log10(scale_.step) + 1e-9)));
    const bool half = std::fmod(scale_.step * std::pow(10, digits) + 1e-9, 1) > 1e-6;  // 2.5
    const auto ticks = std::lround((scale_.high - scale_.low) / scale_.step);
    for (long i = 0; i <= ticks; ++i) {
      const double value = scale_.low + scale_.step * static_cast<double>(i);
      body_ += fmt::format(
          "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"{3}\"/>\n"
          "<text x=\"{4}\" y=\"{5:.1f}\" text-anchor=\"end\">{6:.{7}f}</text>\n",
          kLeft, kWidth - kRight, y(value), i == 0 ? "#7b8794" : "#e4e7eb", kLeft - 8,
          y(value) + 4.5, value, digits + (half ? 1 : 0));
    }
    draw_labels();
  }

  void draw_labels() {
    double free_from = 0;
    for (std::size_t i = 0; i < x_.size(); ++i) {
      const std::string& label = axis().points[i].label;
      body_ += fmt::format(
          "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" "
          "stroke=\"#7b8794\"/>\n",
          x_[i], bottom(), bottom() + 5);
      if (turned_) {
        body_ += fmt::format(
            "<text transform=\"translate({:.1f} {:.1f}) rotate(-35)\" text-anchor=\"end\">{}"
            "</text>\n",
            x_[i] + 4, bottom() + 18, xml(label));
        continue;
      }
      const double half = numeric_ ? text_width(label) / 2 : 0;
      if (x_[i] - half < free_from) continue;  // it would cover its neighbour
      free_from = x_[i] + half + 4;
      for (std::size_t line = 0; line < labels_[i].size(); ++line) {
        body_ +=
            fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", x_[i],
                        bottom() + 20 + 16 * static_cast<double>(line), xml(labels_[i][line]));
      }
    }
  }

  void draw(std::size_t index) {
    const Series& series = list_[index];
    const char* colour = kColours[index % kColours.size()];
    // Series over names stand side by side within a band.
    const double n = static_cast<double>(list_.size());
    const double aside = numeric_ ? 0
                                  : (static_cast<double>(index) - (n - 1) / 2) *
                                        std::min(18.0, 0.7 * band_ / std::max(n, 1.0));
    draw_line(series.paper, aside, fmt::format("stroke=\"{}\" stroke-dasharray=\"5 4\"", colour));
    draw_line(series.ours, aside, fmt::format("stroke=\"{}\"", colour));
    for (const ChartPoint& point : series.paper) {
      body_ += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\" fill=\"#ffffff\" stroke=\"{}\" "
          "stroke-width=\"1.8\"/>\n",
          x_[point.x] + aside, y(point.value), colour);
    }
    for (const ChartPoint& point : series.ours) {
      const double x = x_[point.x] + aside;
      if (point.deviation > 0) {
        const double high = y(point.value + point.deviation),
                     low = y(point.value - point.deviation);
        body_ += fmt::format(
            "<path d=\"M{0:.1f} {1:.1f}V{2:.1f}M{3:.1f} {1:.1f}H{4:.1f}M{3:.1f} {2:.1f}H{4:.1f}\" "
            "stroke=\"{5}\" stroke-width=\"1.5\" fill=\"none\"/>\n",
            x, high, low, x - 4, x + 4, colour);
      }
      body_ += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"/>\n", x,
                           y(point.value), colour);
    }
  }

  /// Names have no order, so nothing leads from one to the next.
  void draw_line(const std::vector<ChartPoint>& points, double aside, const std::string& stroke) {
    if (!numeric_ || points.size() < 2) return;
    std::string path;
    for (const ChartPoint& point : points) {
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x_[point.x] + aside,
                          y(point.value));
    }
    body_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke-width=\"2\" {}/>\n", path, stroke);
  }

  void draw_legend() {
    for (std::size_t i = 0; i < legend_.size(); ++i) {
      const auto& [x, y, name] = legend_[i];
      const bool paper = i >= list_.size();
      const char* colour = paper ? "#616e7c" : kColours[i % kColours.size()];
      if (numeric_) {
        body_ += fmt::format("<path d=\"M{} {:.1f}h26\" stroke=\"{}\" stroke-width=\"2\"{}/>\n", x,
                             y - 4.5, colour, paper ? " stroke-dasharray=\"5 4\"" : "");
      }
      body_ += fmt::format(
          "<circle cx=\"{}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\" stroke=\"{}\" "
          "stroke-width=\"1.8\"/>\n<text x=\"{}\" y=\"{}\">{}</text>\n",
          x + 13, y - 4.5, paper ? "#ffffff" : colour, colour, x + 34, y, xml(name));
    }
  }

  struct LegendEntry {
    double x, y;
    std::string name;
  };

  const SweepFile& file_;
  const SweepChart& chart_;
  std::vector<Series> list_;
  Scale scale_;
  std::vector<double> x_;
  std::vector<LegendEntry> legend_;
  std::vector<std::vector<std::string>> labels_;  ///< of each point, in lines
  double band_ = 0, longest_label_ = 0, label_height_ = 0, top_ = 0;
  bool numeric_ = false, turned_ = false;
  std::string body_;
};

}  // namespace

std::string to_svg(const SweepResults& results) {
  if (!results.file->chart) return "";
  return Drawing(results, *results.file->chart).svg();
}

}  // namespace protogcd
