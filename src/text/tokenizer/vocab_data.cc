#include "text/tokenizer/vocab_data.h"

#include <limits>
#include <utility>

#include "format/gguf/gguf.h"

namespace toccata {

namespace {

// Reads keys one by one; after the first error the rest are skipped.
class Reader {
 public:
  explicit Reader(const gguf::File& file) : file_(file) {}
  const Status& status() const { return status_; }

  void required(std::string_view key, std::string& out) {
    if (!optional(key, out)) set_error(std::string(key) + " is missing");
  }

  bool optional(std::string_view key, std::string& out) {
    const auto value = take(file_.get_string(key));
    if (value) out = std::string(*value);
    return value.has_value();
  }

  void optional(std::string_view key, std::optional<bool>& out) { out = take(file_.get_bool(key)); }

  void optional(std::string_view key, std::optional<TokenId>& out) {
    const auto value = take(file_.get_int(key));
    if (!value) return;
    if (*value < 0 || *value > std::numeric_limits<TokenId>::max()) {
      return set_error(std::string(key) + " = " + std::to_string(*value) + " is not a token id");
    }
    out = static_cast<TokenId>(*value);
  }

  // nullptr when the key is absent or an error is pending.
  const gguf::Array* array(std::string_view key) {
    if (!status_) return nullptr;
    const auto result = file_.get_array(key);
    if (result) return *result;
    status_ = tl::unexpected(result.error());
    return nullptr;
  }

  void strings(std::string_view key, bool required, std::vector<std::string_view>& out) {
    const gguf::Array* a = array(key);
    if (a == nullptr && required) set_error(std::string(key) + " is missing");
    if (a == nullptr) return;
    if (a->element != gguf::ValueType::kString) return set_error(std::string(key) + " is not an array of strings");
    out = a->strings;
  }

  void set_error(const std::string& message) {
    if (status_) status_ = fail(ErrorCode::kInvalidFile, file_.shards().front()->path() + ": " + message);
  }

 private:
  template <class T>
  std::optional<T> take(Result<std::optional<T>> result) {
    if (status_ && !result) status_ = tl::unexpected(result.error());
    return status_ ? *result : std::nullopt;
  }

  const gguf::File& file_;
  Status status_;
};

void read_types(Reader& reader, VocabData& data) {
  constexpr std::string_view kKey = "tokenizer.ggml.token_type";
  const gguf::Array* a = reader.array(kKey);
  if (a == nullptr) {
    data.types.assign(data.tokens.size(), TokenType::kNormal);
    return;
  }
  data.types.reserve(data.tokens.size());
  for (uint64_t i = 0; i < a->count; ++i) {
    const std::optional<int64_t> type = a->int_at(i);
    // 0 is "undefined" in llama.cpp's enumeration.
    if (!type || *type < 0 || *type > 6) {
      return reader.set_error(std::string(kKey) + "[" + std::to_string(i) + "] is not a token type (0 to 6)");
    }
    data.types.push_back(*type == 0 ? TokenType::kNormal : static_cast<TokenType>(*type));
  }
}

void read_scores(Reader& reader, VocabData& data) {
  const gguf::Array* a = reader.array("tokenizer.ggml.scores");
  if (a == nullptr) return;
  data.scores.reserve(data.tokens.size());
  for (uint64_t i = 0; i < a->count; ++i) {
    const std::optional<double> score = a->float_at(i);
    if (!score) return reader.set_error("tokenizer.ggml.scores is not an array of numbers");
    data.scores.push_back(static_cast<float>(*score));
  }
}

}  // namespace

Result<VocabData> VocabData::from_gguf(const gguf::File& file) {
  VocabData data;
  Reader reader(file);
  reader.required("tokenizer.ggml.model", data.model);
  reader.optional("tokenizer.ggml.pre", data.pre);
  reader.strings("tokenizer.ggml.tokens", true, data.tokens);
  read_types(reader, data);
  if (data.model == "llama") read_scores(reader, data);
  if (data.model == "gpt2") reader.strings("tokenizer.ggml.merges", true, data.merges);
  reader.optional("tokenizer.ggml.bos_token_id", data.bos);
  reader.optional("tokenizer.ggml.eos_token_id", data.eos);
  reader.optional("tokenizer.ggml.eot_token_id", data.eot);
  reader.optional("tokenizer.ggml.eom_token_id", data.eom);
  reader.optional("tokenizer.ggml.unknown_token_id", data.unknown);
  reader.optional("tokenizer.ggml.add_bos_token", data.add_bos);
  reader.optional("tokenizer.ggml.add_eos_token", data.add_eos);
  reader.optional("tokenizer.ggml.add_space_prefix", data.add_space_prefix);
  std::optional<bool> remove_extra;
  reader.optional("tokenizer.ggml.remove_extra_whitespaces", remove_extra);
  data.remove_extra_whitespaces = remove_extra.value_or(false);
  if (!reader.status()) return tl::unexpected(reader.status().error());
  return data;
}

}  // namespace toccata
