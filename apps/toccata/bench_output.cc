#include "bench_output.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "base/cpu_features.h"
#include "json_reader.h"
#include "text/tokenizer/utf8_runs.h"

namespace toccata::cli {
namespace json = boost::json;
namespace {

struct FileFacts {
  double bytes = 0, parameters = 0;
  std::string type;  // of most of the bytes
};

FileFacts facts_of(const gguf::File& file) {
  FileFacts f;
  std::map<std::string_view, double> by_type;
  for (const gguf::Tensor& t : file.tensors()) {
    f.bytes += static_cast<double>(t.bytes);
    f.parameters += static_cast<double>(t.cols()) * static_cast<double>(t.rows());
    by_type[dtype_info(t.type).name] += static_cast<double>(t.bytes);
  }
  double most = 0;
  for (const auto& [name, bytes] : by_type) {
    if (bytes > most) f.type = name;
    most = std::max(most, bytes);
  }
  return f;
}

template <class... Args>
std::string format(const char* pattern, Args... args) {
  char buffer[400];
  std::snprintf(buffer, sizeof buffer, pattern, args...);
  return buffer;
}

// As llama-bench has it: "llama 135M Q4_1".
std::string model_label(const BenchContext& c, const FileFacts& f) {
  const bool billions = f.parameters >= 999.5e6;
  return c.model->runner->config().architecture + " " +
         format(billions ? "%.1fB " : "%.0fM ", f.parameters / (billions ? 1e9 : 1e6)) + f.type;
}

std::string now_utc() {
  const std::time_t t = std::time(nullptr);
  char buffer[32];
  std::tm parts{};
  gmtime_r(&t, &parts);
  return std::string(buffer, std::strftime(buffer, sizeof buffer, "%Y-%m-%dT%H:%M:%SZ", &parts));
}

double limit_speed(const BenchResult& r) { return static_cast<double>(r.test.tokens()) / r.limit_seconds; }

json::array numbers(const std::vector<double>& values) {
  json::array a;
  for (const double v : values) a.push_back(json_number(v));
  return a;
}

}  // namespace

std::string limits_line(const BenchContext& c) {
  return format("limits of %s on %d threads: read %.1f GB/s, int8 %.0f GOPS, f32 %.0f GFLOPS\n",
                std::string(c.model->runner->isa()).c_str(), c.model->threads, c.limits.read_bytes / 1e9,
                c.limits.int8_ops / 1e9, c.limits.f32_ops / 1e9);
}

std::string table_header() {
  return format("| %-20s | %10s | %9s | %7s | %-18s | %19s | %9s | %7s | %9s |\n", "model", "size", "params", "threads",
                "test", "t/s", "limit t/s", "% limit", "t(k)/t(1)") +
         "| -------------------- | ---------: | --------: | ------: | ------------------ | "
         "------------------: | --------: | ------: | --------: |\n";
}

std::string table_row(const BenchContext& c, const BenchResult& r, double one_row_seconds) {
  const FileFacts f = facts_of(*c.model->file);
  const std::vector<double> speeds = r.speeds();
  std::string speed = format("%.2f \u00b1 %.2f", mean(speeds), deviation(speeds));
  speed.insert(0, speed.size() < 20 ? 20 - speed.size() : 0, ' ');  // 19 columns: the sign has two bytes
  const std::string ratio =
      r.test.rows > 0 && one_row_seconds > 0 ? format("%.2f", r.step_seconds / one_row_seconds) : "";
  return format("| %-20.20s | %6.1f MiB | %7.1f M | %7d | %-18s | %s | %9.2f | %7.1f | %9s |\n",
                model_label(c, f).c_str(), f.bytes / (1 << 20), f.parameters / 1e6, c.model->threads,
                r.test.name().c_str(), speed.c_str(), limit_speed(r), 100 * mean(speeds) / limit_speed(r),
                ratio.c_str());
}

std::string json_row(const BenchContext& c, const BenchResult& r, double one_row_seconds) {
  const FileFacts f = facts_of(*c.model->file);
  const std::vector<double> speeds = r.speeds();
  std::vector<double> nanoseconds;
  for (const double s : r.seconds) nanoseconds.push_back(s * 1e9);
  json::object o = {{"build_version", TOCCATA_VERSION},
                    {"cpu_info", cpu_features().model_name},
                    {"isa", std::string(c.model->runner->isa())},
                    {"model_filename", to_valid_utf8(c.path)},
                    {"model_type", to_valid_utf8(model_label(c, f))},
                    {"model_size", static_cast<uint64_t>(f.bytes)},
                    {"model_n_params", static_cast<uint64_t>(f.parameters)},
                    {"n_threads", c.model->threads},
                    {"n_ubatch", c.options.chunk},
                    {"type_k", c.options.k_type},
                    {"type_v", c.options.v_type},
                    {"flash_attn", c.options.attention == "flash"},
                    {"n_prompt", r.test.prompt},
                    {"n_gen", r.test.gen},
                    {"n_depth", r.test.depth},
                    {"n_seqs", r.test.batch},
                    {"n_rows", r.test.rows},
                    {"test_time", now_utc()},
                    {"avg_ns", json_number(mean(nanoseconds))},
                    {"stddev_ns", json_number(deviation(nanoseconds))},
                    {"avg_ts", json_number(mean(speeds))},
                    {"stddev_ts", json_number(deviation(speeds))},
                    {"samples_ns", numbers(nanoseconds)},
                    {"samples_ts", numbers(speeds)},
                    {"limit_ts", json_number(limit_speed(r))},
                    {"limit_share", json_number(mean(speeds) / limit_speed(r))},
                    {"limit_read_bytes_per_s", json_number(c.limits.read_bytes)},
                    {"limit_int8_ops_per_s", json_number(c.limits.int8_ops)},
                    {"limit_f32_ops_per_s", json_number(c.limits.f32_ops)}};
  if (r.test.rows > 0 && one_row_seconds > 0) o["rows_cost"] = json_number(r.step_seconds / one_row_seconds);
  return json::serialize(o);
}

}  // namespace toccata::cli
