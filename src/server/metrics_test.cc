#include "server/metrics.h"

#include <gtest/gtest.h>

namespace toccata::server {
namespace {

TEST(Histogram, CountsUpToEachBound) {
  constexpr double kBounds[] = {1, 2, 5};
  Histogram h(kBounds);
  for (const double x : {0.5, 1.0, 1.5, 5.0, 7.0}) h.observe(x);
  std::string out;
  h.write(out, "h", "m=\"x\"");
  EXPECT_EQ(out,
            "h_bucket{m=\"x\",le=\"1\"} 2\nh_bucket{m=\"x\",le=\"2\"} 3\nh_bucket{m=\"x\",le=\"5\"} 4\n"
            "h_bucket{m=\"x\",le=\"+Inf\"} 5\nh_sum{m=\"x\"} 15\nh_count{m=\"x\"} 5\n");
}

TEST(Metrics, EveryLineIsASampleOrAComment) {
  Metrics metrics;
  metrics.first_tokens(2, 0.1);
  metrics.more_tokens(1, 0.01);
  RequestReport report;
  report.prompt_tokens = 7;
  report.generated_tokens = 3;
  metrics.finished(FinishReason::kStop, report);
  metrics.answered(200);
  Metrics::Gauges gauges;
  gauges.stats.kv_blocks = 4;
  gauges.stats.kv_blocks_used = 1;
  gauges.stats.speculation.accepted_per_position[1] = 7;
  const std::string text = metrics.text("a\"b\\c\nd", gauges);
  EXPECT_NE(text.find("toccata:generation_tokens_total{model_name=\"a\\\"b\\\\c d\"} 3\n"), std::string::npos);
  EXPECT_NE(text.find("per_pos_total{model_name=\"a\\\"b\\\\c d\",position=\"1\"} 7\n"), std::string::npos);
  EXPECT_NE(text.find("} 0.25\n"), std::string::npos) << "kv_cache_usage_perc";
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = text.find('\n', begin);
    ASSERT_NE(end, std::string::npos);
    const std::string line = text.substr(begin, end - begin);
    EXPECT_TRUE(line.starts_with("# HELP toccata:") || line.starts_with("# TYPE toccata:") ||
                line.starts_with("toccata:"))
        << line;
    begin = end + 1;
  }
}

}  // namespace
}  // namespace toccata::server
