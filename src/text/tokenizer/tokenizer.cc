#include "text/tokenizer/tokenizer.h"

#include "text/tokenizer/byte_bpe_tokenizer.h"
#include "text/tokenizer/spm_tokenizer.h"
#include "text/tokenizer/utf8_runs.h"
#include "text/tokenizer/vocab_data.h"

namespace toccata {

Result<std::unique_ptr<Tokenizer>> make_tokenizer(const VocabData& data) {
  if (data.model == "gpt2") return ByteBpeTokenizer::create(data);
  if (data.model == "llama") return SpmTokenizer::create(data);
  return fail(ErrorCode::kUnsupported, "tokenizer.ggml.model = \"" + gguf::printable(data.model) +
                                           "\" is not supported; toccata has \"gpt2\" (byte-level BPE) and \"llama\" "
                                           "(SentencePiece BPE)");
}

Result<std::unique_ptr<Tokenizer>> Tokenizer::from_gguf(const gguf::File& file) {
  const Result<VocabData> data = VocabData::from_gguf(file);
  if (!data) return tl::unexpected(data.error());
  auto made = make_tokenizer(*data);
  // The checks of the vocabulary do not know the file.
  if (!made) return fail(made.error().code, file.shards().front()->path() + ": " + made.error().message);
  return made;
}

std::string StreamDecoder::push(TokenId id) {
  const bool special =
      tokenizer_.token_type(id) == TokenType::kControl || tokenizer_.token_type(id) == TokenType::kUnknown;
  if (skip_special_ && special) return "";
  if (first_) {
    pending_ += tokenizer_.decode(std::span(&id, 1), skip_special_);
  } else {
    pending_ += tokenizer_.token_bytes(id);
  }
  first_ = first_ && tokenizer_.token_bytes(id).empty();
  // Only the last three bytes can be the beginning of a character that is still to be completed.
  size_t complete = 0;
  for (size_t pos = 0; pos < pending_.size(); complete = pos) {
    const Utf8Char c = decode_utf8(pending_, pos);
    if (c.cut) break;
    pos += c.length;
  }
  std::string out = to_valid_utf8(std::string_view(pending_).substr(0, complete));
  pending_.erase(0, complete);
  return out;
}

std::string StreamDecoder::flush() {
  std::string out = to_valid_utf8(pending_);
  pending_.clear();
  first_ = true;
  return out;
}

}  // namespace toccata
