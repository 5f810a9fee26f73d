// How `toccata bench` shows its results: a markdown table, or JSON with llama-bench's field names.
#pragma once

#include <string>

#include "bench_tests.h"

namespace toccata::cli {

struct BenchContext {
  const LoadedModel* model = nullptr;
  std::string path;
  ModelOptions options;
  MachineLimits limits;
};

std::string limits_line(const BenchContext& context);
std::string table_header();
// one_row_seconds: the median step of one row measured at the same depth; 0: unknown.
std::string table_row(const BenchContext& context, const BenchResult& result, double one_row_seconds);
std::string json_row(const BenchContext& context, const BenchResult& result, double one_row_seconds);

}  // namespace toccata::cli
