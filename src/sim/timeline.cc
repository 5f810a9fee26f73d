#include "sim/timeline.h"

#include <algorithm>
#include <cstdio>

namespace toccata::sim {
namespace {

std::string print(const char* pattern, auto... values) {
  char text[400];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

// A slice draws a token from a known text if the request has had one before.
bool decodes(const sched::Slice& slice, const SimRequest& r) { return slice.count == 1 && slice.first >= r.prompt; }

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

constexpr double kWidth = 1000, kLeft = 60, kRow = 16, kHead = 26, kGap = 18;

std::string boxes(std::span<const SimRequest> requests, const SimRun& run, double top, double scale) {
  std::string svg;
  for (const SimStep& step : run.steps) {
    for (const sched::Slice& slice : step.slices) {
      const bool decode = decodes(slice, requests[slice.id]);
      svg += print(
          "<rect class=\"%s\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\"><title>request %zu, %s, %.1f "
          "to %.1f ms</title></rect>\n",
          decode ? "d" : "p", kLeft + step.begin * scale, top + kRow * static_cast<double>(slice.id),
          std::max(0.3, (step.end - step.begin) * scale - 0.3), kRow - 3, static_cast<size_t>(slice.id) + 1,
          decode ? "a token" : (std::to_string(slice.count) + " prompt tokens").c_str(), step.begin * 1e3,
          step.end * 1e3);
    }
  }
  return svg;
}

}  // namespace

std::string timeline_text(std::span<const SimRequest> requests, const SimRun& run, int columns) {
  std::string text;
  for (size_t id = 0; id < requests.size(); ++id) {
    text += print("%3zu |", id + 1);
    const std::vector<double>& tokens = run.tokens[id];
    size_t step = 0, token = 0;
    for (int column = 0; column < columns; ++column) {
      const double width = run.end / columns, end = (column + 1) * width, middle = end - width / 2;
      const size_t before = token;
      // The last column takes the last token, whatever the rounding.
      while (token < tokens.size() && (tokens[token] < end || column + 1 == columns)) ++token;
      while (step < run.steps.size() && run.steps[step].end <= middle) ++step;
      const char* mark = middle < requests[id].arrival || token == tokens.size() ? " " : ".";
      if (step < run.steps.size() && run.steps[step].begin <= middle) {
        for (const sched::Slice& slice : run.steps[step].slices) {
          if (slice.id == id && !decodes(slice, requests[id])) mark = "▒";
        }
      }
      text += token > before ? "█" : mark;
    }
    text += "|\n";
  }
  return text;
}

std::string timeline_svg(std::span<const SimRequest> requests,
                         std::span<const std::pair<std::string, const SimRun*>> runs) {
  double end = 1e-9;
  for (const auto& [name, run] : runs) end = std::max(end, run->end);
  const double scale = kWidth / end, rows = kRow * static_cast<double>(requests.size());
  const double height = static_cast<double>(runs.size()) * (kHead + rows + kGap) + 40;
  std::string svg = print(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" "
      "font-size=\"11\">\n<style>.p{fill:#d9822b}.d{fill:#2b6cb0}.h{font-size:13px;font-weight:bold}</style>\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
      kLeft + kWidth + 20, height);
  double top = 0;
  for (const auto& [name, run] : runs) {
    svg += print("<text class=\"h\" x=\"4\" y=\"%.1f\">", top + 17) + escaped(name) + "</text>\n";
    top += kHead;
    for (size_t id = 0; id < requests.size(); ++id) {
      svg += print("<text x=\"4\" y=\"%.1f\">%zu: %lld</text>\n", top + kRow * static_cast<double>(id) + 10, id + 1,
                   static_cast<long long>(requests[id].prompt));
    }
    svg += boxes(requests, *run, top, scale);
    top += rows + kGap;
  }
  for (int i = 0; i <= 10; ++i) {
    svg += print("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%.2f s</text>\n", kLeft + kWidth * i / 10,
                 top + 10, end * i / 10);
  }
  return svg + print(
                   "<text x=\"%.0f\" y=\"%.1f\">orange: a prompt is read; blue: a token of the answer; rows: request, "
                   "tokens of its prompt</text>\n</svg>\n",
                   kLeft, top + 28);
}

}  // namespace toccata::sim
