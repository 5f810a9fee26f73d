// Pre-tokenization: the hand-written scanners beside PCRE2, on English-like text with some of everything else.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "text/tokenizer/pretokenizer.h"

namespace toccata {
namespace {

std::string sample_text() {
  std::string text;
  while (text.size() < size_t{1} << 20) {
    text +=
        "The quick brown fox didn't jump over 1,234 lazy dogs;\n\n    int main(int argc, char** argv) { return 0; }\n";
    text += "Grüße aus München, \u4f60\u597d\u4e16\u754c, \u043f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440.  ";
  }
  return text;
}

void split(benchmark::State& state, const char* name, PreTokenizer::Engine engine) {
  const PreTokenizer pre(*find_pretokenizer(name), engine);
  const std::string text = sample_text();
  std::vector<size_t> ends;
  for (auto _ : state) {
    ends.clear();
    pre.split(text, ends);
    benchmark::DoNotOptimize(ends.data());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
}

BENCHMARK_CAPTURE(split, gpt2_scanner, "gpt-2", PreTokenizer::Engine::kFastest);
BENCHMARK_CAPTURE(split, gpt2_pcre2, "gpt-2", PreTokenizer::Engine::kRegex);
BENCHMARK_CAPTURE(split, smollm_scanner, "smollm", PreTokenizer::Engine::kFastest);
BENCHMARK_CAPTURE(split, smollm_pcre2, "smollm", PreTokenizer::Engine::kRegex);
BENCHMARK_CAPTURE(split, qwen2_scanner, "qwen2", PreTokenizer::Engine::kFastest);
BENCHMARK_CAPTURE(split, qwen2_pcre2, "qwen2", PreTokenizer::Engine::kRegex);

}  // namespace
}  // namespace toccata
