#include "sim/kv_memory.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "kv/ranked.h"

namespace toccata::sim {
namespace {

constexpr double kMiB = 1 << 20;

std::string print(const char* pattern, auto... values) {
  char text[400];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

uint64_t most_bytes(std::span<const KvCurve> curves) {
  uint64_t most = 1;
  for (const KvCurve& c : curves) {
    for (const KvPoint& p : c.points) most = std::max(most, p.bytes);
  }
  return most;
}

}  // namespace

Result<KvCurve> kv_memory(const KvPolicy& rule, const std::string& type, const kv::Layout& layout,
                          const kv::ModelShape& shape, int64_t tokens, int64_t points) {
  const Result<kv::CachePlan> plan = kv::make_plan(rule, shape);
  if (!plan) return tl::unexpected(plan.error());
  KvCurve curve;
  curve.policy = rule.name;
  curve.type = type;
  curve.block_bytes = layout.pool_block_bytes();
  if (plan->ranking) {
    const Result<kv::RankedState> state = kv::RankedState::create(*plan, layout.layers, layout.kv_heads);
    if (!state) return tl::unexpected(state.error());
    curve.state_bytes = state->bytes();
  }
  points = std::clamp<int64_t>(points, 1, tokens);
  for (int64_t i = 1; i <= points; ++i) {
    const int64_t n = tokens / points * i + tokens % points * i / points;
    const int64_t blocks = plan->blocks(n);
    curve.points.push_back(
        {n, plan->kept(n), blocks, static_cast<uint64_t>(blocks) * curve.block_bytes + curve.state_bytes});
  }
  return curve;
}

std::string kv_memory_text(std::span<const KvCurve> curves) {
  static constexpr const char* kHeights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const double most = static_cast<double>(most_bytes(curves));
  std::string text;
  for (const KvCurve& c : curves) {
    text += print("%-9s %-5s |", c.policy.c_str(), c.type.c_str());
    for (const KvPoint& p : c.points) {
      const double share = static_cast<double>(p.bytes) / most;
      text += kHeights[std::clamp<int64_t>(static_cast<int64_t>(share * 8 + 0.5) - 1, 0, 7)];
    }
    text += print("| %.2f MiB\n", static_cast<double>(c.points.back().bytes) / kMiB);
  }
  text += print("\nafter %lld tokens\n%-9s %-5s %12s %8s %10s %8s %10s %10s\n",
                static_cast<long long>(curves.front().points.back().tokens), "policy", "type", "bytes/token", "kept",
                "evicted", "blocks", "MiB", "peak MiB");
  for (const KvCurve& c : curves) {
    const KvPoint& p = c.points.back();
    text += print("%-9s %-5s %12.0f %8lld %10lld %8lld %10.2f %10.2f\n", c.policy.c_str(), c.type.c_str(),
                  static_cast<double>(c.block_bytes) / kernels::kKvBlock, static_cast<long long>(p.kept),
                  static_cast<long long>(p.tokens - p.kept), static_cast<long long>(p.blocks),
                  static_cast<double>(p.bytes) / kMiB, static_cast<double>(most_bytes({&c, 1})) / kMiB);
  }
  return text;
}

std::string kv_memory_svg(std::span<const KvCurve> curves) {
  static constexpr const char* kColours[] = {"#222222", "#2b6cb0", "#d9822b", "#2f855a"};
  static constexpr const char* kDashes[] = {"none", "6 3", "2 3"};
  constexpr double kWidth = 800, kHeight = 360, kLeft = 70, kTop = 20;
  const double most = static_cast<double>(most_bytes(curves));
  const double tokens = static_cast<double>(curves.front().points.back().tokens);
  std::vector<std::string> policies, types;
  const auto index = [](std::vector<std::string>& names, const std::string& name) {
    const auto at = std::find(names.begin(), names.end(), name);
    const auto i = static_cast<size_t>(at - names.begin());
    if (at == names.end()) names.push_back(name);
    return i;
  };
  std::string svg = print(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" "
      "font-size=\"11\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
      kLeft + kWidth + 220, kTop + kHeight + 40);
  for (int i = 0; i <= 4; ++i) {
    svg += print("<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%.1f MiB</text>\n", kLeft - 6,
                 kTop + kHeight * (4 - i) / 4 + 4, most / kMiB * i / 4);
    svg += print("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%.0f tokens</text>\n", kLeft + kWidth * i / 4,
                 kTop + kHeight + 18, tokens * i / 4);
  }
  double row = kTop + 10;
  for (const KvCurve& c : curves) {
    const std::string style = print("stroke=\"%s\" stroke-dasharray=\"%s\" stroke-width=\"2\" fill=\"none\"",
                                    kColours[index(policies, c.policy) % std::size(kColours)],
                                    kDashes[index(types, c.type) % std::size(kDashes)]);
    svg += "<polyline " + style + " points=\"";
    for (const KvPoint& p : c.points) {
      svg += print("%.1f,%.1f ", kLeft + kWidth * static_cast<double>(p.tokens) / tokens,
                   kTop + kHeight * (1 - static_cast<double>(p.bytes) / most));
    }
    svg += "\"/>\n<polyline " + style;
    svg += print(" points=\"%.0f,%.1f %.0f,%.1f\"/>\n<text x=\"%.0f\" y=\"%.1f\">%s %s</text>\n", kLeft + kWidth + 14,
                 row, kLeft + kWidth + 54, row, kLeft + kWidth + 60, row + 4, c.policy.c_str(), c.type.c_str());
    row += 18;
  }
  return svg + "</svg>\n";
}

}  // namespace toccata::sim
