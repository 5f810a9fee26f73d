#include "text/tokenizer/vocab.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include "text/tokenizer/byte_alphabet.h"

namespace toccata {

namespace {

// Limits far above any real vocabulary (the largest have 2^18 tokens): ids and offsets fit 32 bits, and matching
// special tokens costs at most kMaxSpecialBytes per byte of text.
constexpr size_t kMaxTokens = size_t{1} << 24;
constexpr size_t kMaxTokenBytes = size_t{1} << 31;
constexpr size_t kMaxSpecialBytes = 1024;

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581

// Texts of end-of-generation tokens in published models, for files whose metadata names only one of theirs.
constexpr std::string_view kEndTexts[] = {
    "<|endoftext|>",
    "<|end_of_text|>",
    "</s>",
    "<eos>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<end_of_turn>",
    "<turn|>",
    "<EOT>",
    "[EOT]",
    "[EOS]",
    "<|eot|>",
    "<|eom|>",
    "<|end_of_turn|>",
    "<end_of_utterance>",
    "<｜end▁of▁sentence｜>",
};

std::string entry(std::string_view key, size_t i) { return std::string(key) + "[" + std::to_string(i) + "]"; }

tl::unexpected<Error> bad(std::string message) { return fail(ErrorCode::kInvalidFile, std::move(message)); }

Status same_length(std::string_view key, size_t length, size_t tokens) {
  if (length == tokens) return {};
  return bad(std::string(key) + " has " + std::to_string(length) + " entries but tokenizer.ggml.tokens has " +
             std::to_string(tokens));
}

void append_marks_as_spaces(std::string_view text, std::string& out) {
  for (size_t pos = 0; pos < text.size();) {
    const size_t mark = std::min(text.find(kSpaceMark, pos), text.size());
    out.append(text, pos, mark - pos);
    if (mark < text.size()) out.push_back(' ');
    pos = mark + kSpaceMark.size();
  }
}

void append_token_bytes(std::string_view text, TokenType type, TextForm form, std::string& out) {
  if (type == TokenType::kByte) {
    out.push_back(static_cast<char>(parse_byte_token(text)));
  } else if (type == TokenType::kControl || type == TokenType::kUnknown) {
    out.append(text);
  } else if (form == TextForm::kSpaceMark) {
    append_marks_as_spaces(text, out);
  } else if (type == TokenType::kNormal) {
    append_letters_as_bytes(text, out);
  } else {
    out.append(text);
  }
}

}  // namespace

void StringTable::reserve(size_t strings, size_t bytes) {
  ends_.reserve(strings + 1);
  bytes_.reserve(bytes);
}

void StringTable::add(std::string_view s) {
  bytes_.append(s);
  ends_.push_back(static_cast<uint32_t>(bytes_.size()));
}

Result<Vocab> Vocab::build(const VocabData& data, TextForm form) {
  Vocab vocab;
  if (Status s = vocab.check(data); !s) return tl::unexpected(s.error());
  if (Status s = vocab.fill(data, form); !s) return tl::unexpected(s.error());
  if (Status s = vocab.read_special_ids(data); !s) return tl::unexpected(s.error());
  vocab.build_index(form);
  vocab.find_byte_tokens(form);
  vocab.find_end_tokens(data);
  return vocab;
}

Status Vocab::check(const VocabData& data) const {
  const size_t n = data.tokens.size();
  if (n == 0) return bad("tokenizer.ggml.tokens is empty");
  if (n > kMaxTokens) return bad("tokenizer.ggml.tokens has " + std::to_string(n) + " entries, more than 2^24");
  if (Status s = same_length("tokenizer.ggml.token_type", data.types.size(), n); !s) return s;
  size_t total = 0;
  for (std::string_view t : data.tokens) total += t.size();
  if (total > kMaxTokenBytes) return bad("tokenizer.ggml.tokens holds more than 2^31 bytes of text");
  return {};
}

Status Vocab::fill(const VocabData& data, TextForm form) {
  types_ = data.types;
  size_t total = 0;
  for (std::string_view t : data.tokens) total += t.size();
  texts_.reserve(types_.size(), total);
  bytes_.reserve(types_.size(), total);
  std::string bytes;
  for (size_t i = 0; i < types_.size(); ++i) {
    const std::string_view text = data.tokens[i];
    const TokenType type = types_[i];
    const bool matched_in_text =
        type == TokenType::kControl || type == TokenType::kUserDefined || type == TokenType::kUnknown;
    if (matched_in_text && text.size() > kMaxSpecialBytes) {
      return bad(entry("tokenizer.ggml.tokens", i) + " is a special token of " + std::to_string(text.size()) +
                 " bytes, more than 1024");
    }
    if (type == TokenType::kByte && parse_byte_token(text) < 0) {
      return bad(entry("tokenizer.ggml.token_type", i) + " says byte but the token is not of the form <0xNN>");
    }
    texts_.add(text);
    bytes.clear();
    append_token_bytes(text, type, form, bytes);
    bytes_.add(bytes);
  }
  return {};
}

Status Vocab::read_special_ids(const VocabData& data) {
  const auto check_id = [&](std::string_view key, std::optional<TokenId> id) -> Status {
    if (!id || contains(*id)) return {};
    return bad(std::string(key) + " = " + std::to_string(*id) + " is not in the vocabulary of " +
               std::to_string(size()) + " tokens");
  };
  if (Status s = check_id("tokenizer.ggml.bos_token_id", data.bos); !s) return s;
  if (Status s = check_id("tokenizer.ggml.eos_token_id", data.eos); !s) return s;
  if (Status s = check_id("tokenizer.ggml.eot_token_id", data.eot); !s) return s;
  if (Status s = check_id("tokenizer.ggml.eom_token_id", data.eom); !s) return s;
  if (Status s = check_id("tokenizer.ggml.unknown_token_id", data.unknown); !s) return s;
  bos_ = data.bos.value_or(-1);
  eos_ = data.eos.value_or(-1);
  unknown_ = data.unknown.value_or(-1);
  add_bos_ = data.add_bos.value_or(false);
  add_eos_ = data.add_eos.value_or(false);
  if (add_bos_ && bos_ < 0)
    return bad("tokenizer.ggml.add_bos_token is set but tokenizer.ggml.bos_token_id is missing");
  if (add_eos_ && eos_ < 0)
    return bad("tokenizer.ggml.add_eos_token is set but tokenizer.ggml.eos_token_id is missing");
  return {};
}

void Vocab::build_index(TextForm form) {
  index_.assign(std::bit_ceil(types_.size() * 2), Slot());
  for (TokenId id = 0; id < size(); ++id) {
    if (type(id) == TokenType::kNormal) insert(id);
  }
  for (TokenId id = 0; id < size(); ++id) {
    const bool left_out = form == TextForm::kSpaceMark && (is_special(id) || type(id) == TokenType::kByte);
    if (type(id) != TokenType::kNormal && !left_out) insert(id);
  }
}

void Vocab::insert(TokenId id) {
  const std::string_view piece = bytes(id);
  if (piece.empty()) return;
  const size_t hash = std::hash<std::string_view>()(piece);
  const uint32_t tag = static_cast<uint32_t>(hash >> 32);
  for (size_t i = hash & (index_.size() - 1);; i = (i + 1) & (index_.size() - 1)) {
    if (index_[i].id < 0) {
      index_[i] = {tag, id};
      return;
    }
    if (index_[i].tag == tag && bytes(index_[i].id) == piece) return;
  }
}

TokenId Vocab::find(std::string_view piece) const {
  const size_t hash = std::hash<std::string_view>()(piece);
  const uint32_t tag = static_cast<uint32_t>(hash >> 32);
  for (size_t i = hash & (index_.size() - 1);; i = (i + 1) & (index_.size() - 1)) {
    if (index_[i].id < 0) return -1;
    if (index_[i].tag == tag && bytes(index_[i].id) == piece) return index_[i].id;
  }
}

void Vocab::find_byte_tokens(TextForm form) {
  byte_tokens_.fill(-1);
  for (TokenId id = 0; id < size(); ++id) {
    TokenId& of_byte = byte_tokens_[bytes(id).empty() ? 0 : static_cast<uint8_t>(bytes(id)[0])];
    if (type(id) == TokenType::kByte && of_byte < 0) of_byte = id;
  }
  if (form != TextForm::kByteLevel) return;
  for (size_t b = 0; b < 256; ++b) {
    const char c = static_cast<char>(b);
    const TokenId id = find(std::string_view(&c, 1));
    if (id >= 0 && type(id) == TokenType::kNormal) byte_tokens_[b] = id;
  }
}

void Vocab::find_end_tokens(const VocabData& data) {
  end_.assign(types_.size(), false);
  bool has_return = false, has_call = false;
  for (TokenId id = 0; id < size(); ++id) {
    if (type(id) != TokenType::kControl) continue;
    end_[static_cast<size_t>(id)] =
        std::find(std::begin(kEndTexts), std::end(kEndTexts), text(id)) != std::end(kEndTexts);
    has_return |= text(id) == "<|return|>";
    has_call |= text(id) == "<|call|>";
  }
  // In OpenAI's harmony format <|end|> closes one message of a turn, and <|return|> or <|call|> the turn.
  if (has_return && has_call) {
    for (TokenId id = 0; id < size(); ++id) {
      if (text(id) == "<|end|>") end_[static_cast<size_t>(id)] = false;
    }
  }
  for (std::optional<TokenId> id : {data.eos, data.eot, data.eom}) {
    if (id) end_[static_cast<size_t>(*id)] = true;
  }
}

}  // namespace toccata
