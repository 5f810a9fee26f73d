// `toccata inspect`: what is in a model file, and what memory it needs.
#include <algorithm>
#include <cstdio>
#include <map>

#include "arg_parser.h"
#include "commands.h"
#include "inspect_report.h"
#include "kv/pool.h"
#include "loaded_model.h"
#include "output.h"

namespace toccata::cli {
namespace {

uint64_t kv_bytes_per_token(const model::ModelConfig& c, DType type) {
  return kv::Layout{c.layers, c.kv_heads, c.head_dim, type, type}.bytes_per_token();
}

std::vector<int64_t> usual_contexts(int64_t most) {
  std::vector<int64_t> sizes;
  for (const int64_t size : {2048, 8192, 32768, 131072}) {
    if (size < most) sizes.push_back(size);
  }
  sizes.push_back(most);
  return sizes;
}

void add_totals(InspectReport& report) {
  std::map<DType, TypeTotal> totals;
  for (const gguf::Tensor& tensor : report.file->tensors()) {
    TypeTotal& total = totals[tensor.type];
    total.type = tensor.type;
    ++total.tensors;
    total.bytes += tensor.bytes;
    report.weight_bytes += tensor.bytes;
    report.parameters += static_cast<double>(tensor.cols()) * static_cast<double>(tensor.rows());
  }
  for (const auto& [type, total] : totals) report.types.push_back(total);
  std::stable_sort(report.types.begin(), report.types.end(),
                   [](const TypeTotal& a, const TypeTotal& b) { return a.bytes > b.bytes; });
}

void add_plan(InspectReport& report, const std::vector<int64_t>& contexts) {
  const model::ModelConfig& c = *report.config;
  report.kv_token_f16 = kv_bytes_per_token(c, DType::kF16);
  report.kv_token_f32 = kv_bytes_per_token(c, DType::kF32);
  for (const int64_t context : contexts.empty() ? usual_contexts(c.context_length) : contexts) {
    const double held = static_cast<double>((context + kernels::kKvBlock - 1) / kernels::kKvBlock * kernels::kKvBlock);
    report.plan.push_back(
        {context, held * static_cast<double>(report.kv_token_f16), held * static_cast<double>(report.kv_token_f32)});
  }
}

}  // namespace

InspectReport make_report(const std::string& path, std::shared_ptr<const gguf::File> file,
                          const std::vector<int64_t>& contexts) {
  InspectReport report;
  report.path = path;
  report.file = std::move(file);
  add_totals(report);
  auto config = model::read_config(*report.file);
  if (!config) {
    report.unsupported = config.error().message;
    return report;
  }
  report.config = std::move(*config);
  add_plan(report, contexts);
  return report;
}

int inspect_main(int argc, char** argv) {
  ArgParser parser("toccata inspect", "Shows what is in a GGUF file and what memory the model needs.");
  std::string path;
  std::vector<std::string> files;
  std::vector<int64_t> contexts;
  bool json = false, metadata = false, tensors = false;
  parser.positionals("MODEL", files, "GGUF file; of a split model any part");
  parser.text("-m,--model", path, "FILE", "the same as MODEL");
  parser.integers("-c,--ctx-size", contexts, 1, 1 << 30, "context sizes for the memory plan");
  parser.flag("--metadata", metadata, "list the metadata; long arrays and texts are cut");
  parser.flag("--tensors", tensors, "list the tensors: name, type, shape, bytes");
  parser.flag("--json", json, "one JSON object instead of text");
  parser.footer(
      "Exit code 1 if the file is damaged or if toccata cannot run the model; what can be read is shown all the same.\n"
      "\n"
      "Examples:\n"
      "  toccata inspect model.gguf\n"
      "  toccata inspect model.gguf --metadata --tensors\n"
      "  toccata inspect model.gguf -c 4096,16384 --json");
  if (const auto code = parser.parse(argc, argv)) return *code;
  if (!path.empty()) files.push_back(path);
  if (files.size() != 1) return parser.usage_error("give one model file");

  auto file = gguf::File::open(files.front());
  if (!file) return cli::report("inspect", file.error());
  InspectReport report = make_report(files.front(), std::move(*file), contexts);
  report.show_metadata = metadata;
  report.show_tensors = tensors;
  const Status written = write_stdout(json ? report_json(report) : report_text(report));
  if (!written) return cli::report("inspect", written.error());
  return report.config ? 0 : cli::report("inspect", {ErrorCode::kUnsupported, report.unsupported});
}

}  // namespace toccata::cli
