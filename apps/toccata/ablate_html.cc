// The report as one HTML file: the table, and the plots as inline SVG.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "ablate.h"

namespace toccata::cli {
namespace {

constexpr double kWidth = 640, kHeight = 300, kLeft = 64, kRight = 16, kTop = 12, kBottom = 44;
constexpr const char* kColours[] = {"#0a6ebd", "#c2410c", "#15803d", "#7e22ce", "#a16207", "#0e7490"};

std::string print(const char* pattern, auto... values) {
  char text[400];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

// 1, 2 or 5 times a power of ten, so that at most about five steps reach `range`.
double tick_step(double range) {
  const double raw = range / 5, power = std::pow(10.0, std::floor(std::log10(raw)));
  for (const double m : {1.0, 2.0, 5.0}) {
    if (m * power >= raw) return m * power;
  }
  return 10 * power;
}

struct Axis {
  double low = 0, high = 1, from = 0, to = 1;  // values, and the pixels they go to
  double at(double value) const { return from + (value - low) / (high - low) * (to - from); }
};

// From zero, as ratios and times want it, to the largest value.
Axis axis_over(const AblationPlot& plot, bool horizontal) {
  double most = 0;
  for (const AblationPlot::Series& s : plot.series) {
    for (const auto& [x, y] : s.points) most = std::max(most, horizontal ? x : y);
  }
  if (!(most > 0) || !std::isfinite(most)) most = 1;
  return horizontal ? Axis{0, most, kLeft, kWidth - kRight} : Axis{0, most * 1.05, kHeight - kBottom, kTop};
}

std::string grid(const Axis& x, const Axis& y) {
  std::string svg;
  const double dy = tick_step(y.high), dx = tick_step(x.high);
  for (double v = 0; v <= y.high; v += dy) {
    svg += print("<line class=\"g\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>", x.from, x.to, y.at(v), y.at(v));
    svg += print("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", kLeft - 6, y.at(v) + 4, v);
  }
  for (double v = 0; v <= x.high * (1 + 1e-9); v += dx) {
    svg += print("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%g</text>\n", x.at(v), kHeight - kBottom + 16, v);
  }
  return svg;
}

std::string plot_html(const AblationPlot& plot) {
  const Axis x = axis_over(plot, true), y = axis_over(plot, false);
  std::string legend;
  std::string html = "<figure><figcaption>" + escaped(plot.title) + "</figcaption>\n";
  html += print("<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"", kWidth, kHeight) + escaped(plot.title) +
          "\">\n";
  html += grid(x, y);
  for (size_t i = 0; i < plot.series.size(); ++i) {
    const AblationPlot::Series& s = plot.series[i];
    const char* colour = kColours[i % std::size(kColours)];
    std::string line;
    for (const auto& [px, py] : s.points) line += print("%.1f,%.1f ", x.at(px), y.at(py));
    html += print("<polyline fill=\"none\" stroke-width=\"2\" stroke=\"%s\" points=\"", colour) + line + "\"/>\n";
    if (s.points.size() <= 24) {
      for (const auto& [px, py] : s.points) {
        html += print("<circle fill=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"><title>", colour, x.at(px), y.at(py)) +
                escaped(s.name) + print(": %g, %g</title></circle>\n", px, py);
      }
    }
    legend += print("<li><span style=\"background:%s\"></span>", colour) + escaped(s.name) + "</li>";
  }
  html += print("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", (kLeft + kWidth) / 2, kHeight - 8) +
          escaped(plot.x) + "</text>\n";
  html += "</svg>\n<p class=\"y\">vertical: " + escaped(plot.y) + "</p><ul>" + legend + "</ul></figure>\n";
  return html;
}

std::string cell(const std::string& text, bool head) {
  const char* tag = head ? "th" : "td";
  return print("<%s>", tag) + escaped(text) + print("</%s>", tag);
}

// The Markdown table's lines as rows of HTML.
std::string table_html(const std::string& markdown) {
  std::string html = "<div class=\"scroll\"><table>\n";
  bool head = true;
  for (size_t at = 0; at < markdown.size();) {
    const size_t end = markdown.find('\n', at);
    const std::string line = markdown.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("|---")) continue;
    html += "<tr>";
    for (size_t from = 2; from < line.size();) {
      const size_t to = std::min(line.find(" |", from), line.size());
      html += cell(line.substr(from, to - from), head);
      from = to + 3;
    }
    html += "</tr>\n";
    head = false;
  }
  return html + "</table></div>\n";
}

constexpr const char* kStyle =
    ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 "
    "1rem}"
    "table{border-collapse:collapse;font-size:.875rem}th,td{border-bottom:1px solid #8886;padding:.3rem .6rem;"
    "text-align:left;vertical-align:top}.scroll{overflow-x:auto}figure{margin:2rem 0;max-width:44rem}"
    "figcaption{font-weight:600}svg{width:100%;height:auto}svg text{font:12px system-ui,sans-serif;fill:currentColor}"
    ".g{stroke:#8884}ul{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.2rem 1rem;margin:0}"
    "li span{display:inline-block;width:.8rem;height:.8rem;margin-right:.4rem}.y{margin:0;font-size:.8rem;opacity:.8}";

}  // namespace

std::string ablation_html(const AblationReport& report) {
  std::string html = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">";
  html += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">";
  html +=
      "<title>toccata: ablation of " + escaped(report.model) + "</title><style>" + kStyle + "</style></head><body>\n";
  html += "<h1>What each optimization does</h1>\n<p>" + escaped(report.model) + "<br>" + escaped(report.machine) +
          "<br>" + escaped(report.workload) + "</p>\n";
  html += table_html(ablation_table(report));
  html +=
      "<p>Off and on are medians. The ratio says how many times better it is on: the median over the pairs, with the "
      "least and the most.</p>\n";
  for (const AblationPlot& plot : report.plots) html += plot_html(plot);
  return html + "</body></html>\n";
}

}  // namespace toccata::cli
