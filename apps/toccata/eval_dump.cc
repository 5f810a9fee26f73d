#include <algorithm>
#include <cstdio>
#include <deque>
#include <optional>

#include <xxhash.h>

#include "eval_perplexity.h"
#include "interrupt.h"
#include "loaded_model.h"
#include "output.h"

namespace toccata::cli {
namespace {

// Most rows that neighbours take of a step, all together.
constexpr int64_t kNeighbourRows = 8;

class Dump {
 public:
  Dump(LoadedModel& m, const DumpOptions& options, std::optional<OutputFile> file)
      : m_(m), options_(options), file_(std::move(file)) {}

  Status run(const std::vector<int32_t>& ids, int64_t chunk) {
    const int64_t n = static_cast<int64_t>(ids.size());
    const int64_t from = std::max<int64_t>(0, n - options_.last);
    const int64_t prefix_chunk = options_.prefix_chunk > 0 ? options_.prefix_chunk : chunk;
    Session session(*m_.runner, *m_.pool, m_.plan);
    if (Status s = add_neighbours(ids); !s) return s;
    for (int64_t at = 0; at < n && !interrupted();) {
      // With a chunk size of its own the prefix ends exactly where the dumped rows begin.
      int64_t count = std::min(at < from ? prefix_chunk : chunk, n - at);
      if (options_.prefix_chunk > 0 && at < from) count = std::min(count, from - at);
      const auto tokens = std::span(ids).subspan(static_cast<size_t>(at), static_cast<size_t>(count));
      if (Status s = step(session, tokens, static_cast<int32_t>(std::max<int64_t>(0, from - at))); !s) return s;
      at += count;
    }
    return file_ ? file_->close() : Status();
  }

 private:
  // Neighbour k repeats the prompt, rotated by its number, so its tokens and lengths are its own.
  Status add_neighbours(const std::vector<int32_t>& ids) {
    for (int64_t k = 0; k < options_.neighbours; ++k) {
      neighbours_.emplace_back(*m_.runner, *m_.pool, m_.plan);
      std::vector<int32_t> tokens = ids;
      std::rotate(tokens.begin(), tokens.begin() + (k * 7 + 3) % static_cast<int64_t>(ids.size()), tokens.end());
      texts_.push_back(std::move(tokens));
      if (Status s = neighbours_.back().reserve(m_.context); !s) return s;
    }
    return {};
  }

  Status step(Session& session, std::span<const int32_t> tokens, int32_t first_row) {
    if (Status s = session.reserve(session.length() + static_cast<int64_t>(tokens.size())); !s) return s;
    std::vector<model::SpanInput> spans;
    // Neighbours first and last, so that the dumped sequence's rows lie in the middle.
    const size_t before = neighbours_.size() / 2;
    for (size_t k = 0; k < before; ++k) add_span(spans, k);
    const int32_t count = static_cast<int32_t>(tokens.size());
    spans.push_back(session.span(tokens, first_row < count ? first_row : -1));
    for (size_t k = before; k < neighbours_.size(); ++k) add_span(spans, k);

    const int64_t rows = std::max(0, count - first_row);
    const size_t stride = m_.runner->logit_stride();
    logits_.resize(static_cast<size_t>(rows) * stride);
    if (Status s = m_.runner->forward({spans}, *m_.pool, logits_.data()); !s) return s;
    for (int64_t r = 0; r < rows; ++r) {
      const float* row = logits_.data() + static_cast<size_t>(r) * stride;
      if (Status s = write_row(session.length() + first_row + r, row); !s) return s;
    }
    session.commit(tokens);
    size_t k = 0;
    for (const model::SpanInput& span : spans) {
      if (span.tokens.data() != tokens.data()) neighbours_[k++].commit(span.tokens);
    }
    return {};
  }

  void add_span(std::vector<model::SpanInput>& spans, size_t k) {
    const int64_t most = std::max<int64_t>(1, kNeighbourRows / options_.neighbours);
    Session& s = neighbours_[k];
    const int64_t held = static_cast<int64_t>(texts_[k].size());
    const int64_t count = std::min(1 + static_cast<int64_t>(k) % most, held);
    if (s.length() + count > held) s.truncate(0), (void)s.reserve(m_.context);
    const auto tokens = std::span(texts_[k]).subspan(static_cast<size_t>(s.length()), static_cast<size_t>(count));
    spans.push_back(s.span(tokens, -1));
  }

  Status write_row(int64_t position, const float* row) {
    const size_t bytes = static_cast<size_t>(m_.vocab()) * sizeof(float);
    if (options_.hashes) {
      char line[64];
      std::snprintf(line, sizeof line, "%lld %016llx\n", static_cast<long long>(position),
                    static_cast<unsigned long long>(XXH3_64bits(row, bytes)));
      if (Status s = write_stdout(line); !s) return s;
    }
    return file_ ? file_->write({reinterpret_cast<const char*>(row), bytes}) : Status();
  }

  LoadedModel& m_;
  const DumpOptions& options_;
  std::optional<OutputFile> file_;
  std::deque<Session> neighbours_;
  std::vector<std::vector<int32_t>> texts_;
  std::vector<float> logits_;
};

}  // namespace

Status eval_dump(const ModelOptions& options, const DumpOptions& dump) {
  Result<std::string> text = read_text(dump.prompt_path);
  if (!text) return tl::unexpected(text.error());
  Result<std::unique_ptr<LoadedModel>> side = load_text_side(options.path);
  if (!side) return tl::unexpected(side.error());
  const std::vector<TokenId> ids = (*side)->tokenizer->encode(*text, {.parse_special = true, .add_special = true});
  if (ids.empty()) return fail(ErrorCode::kInvalidArgument, "the prompt is empty: there are no logits to dump");
  const int64_t n = static_cast<int64_t>(ids.size());
  if (options.context > 0 && n > options.context) {
    return fail(ErrorCode::kInvalidArgument, "the prompt does not fit the context: n_prompt = " + std::to_string(n) +
                                                 ", n_ctx = " + std::to_string(options.context));
  }
  LoadNeeds needs;
  needs.context = n;
  needs.sequences = 1 + dump.neighbours;
  const int64_t chunk = std::min(std::max(options.chunk, dump.prefix_chunk), n);
  needs.most_rows = chunk + (dump.neighbours > 0 ? std::max(kNeighbourRows, dump.neighbours) : 0);
  needs.logit_rows = std::min(chunk, dump.last);
  Result<std::unique_ptr<LoadedModel>> m = load_model(options, needs);
  if (!m) return tl::unexpected(m.error());
  std::optional<OutputFile> file;
  if (!dump.file.empty()) {
    Result<OutputFile> created = OutputFile::create(dump.file);
    if (!created) return tl::unexpected(created.error());
    file.emplace(std::move(*created));
  }
  return Dump(**m, dump, std::move(file)).run(ids, options.chunk);
}

}  // namespace toccata::cli
