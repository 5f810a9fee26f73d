#include "text/tokenizer/spm_tokenizer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <unordered_map>

#include "text/tokenizer/bpe_merge.h"
#include "text/tokenizer/utf8_runs.h"
#include "text/tokenizer/word_cache.h"

namespace toccata {

namespace {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581

size_t pair_hash(char32_t left, char32_t right) {
  return static_cast<size_t>((uint64_t{left} << 32 | right) * 0x9E3779B97F4A7C15u >> 20);
}

Status check_scores(const VocabData& data) {
  if (data.scores.size() != data.tokens.size()) {
    return fail(ErrorCode::kInvalidFile, "tokenizer.ggml.scores has " + std::to_string(data.scores.size()) +
                                             " entries but tokenizer.ggml.tokens has " +
                                             std::to_string(data.tokens.size()));
  }
  for (size_t i = 0; i < data.scores.size(); ++i) {
    if (std::isnan(data.scores[i])) {
      return fail(ErrorCode::kInvalidFile, "tokenizer.ggml.scores[" + std::to_string(i) + "] is not a number");
    }
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> SpmTokenizer::create(const VocabData& data) {
  if (Status s = check_scores(data); !s) return tl::unexpected(s.error());
  VocabData resolved = data;
  // SentencePiece's own defaults: <unk> 0, <s> 1, </s> 2, and a BOS before every text.
  const TokenId n = static_cast<TokenId>(std::min<size_t>(data.tokens.size(), 3));
  if (!resolved.unknown && n > 0) resolved.unknown = 0;
  if (!resolved.bos && n > 1) resolved.bos = 1;
  if (!resolved.eos && n > 2) resolved.eos = 2;
  if (!resolved.add_bos && resolved.bos) resolved.add_bos = true;
  Result<Vocab> vocab = Vocab::build(resolved, TextForm::kSpaceMark);
  if (!vocab) return tl::unexpected(vocab.error());
  return std::unique_ptr<Tokenizer>(new SpmTokenizer(std::move(*vocab), resolved));
}

SpmTokenizer::SpmTokenizer(Vocab vocab, const VocabData& data)
    : VocabTokenizer(std::move(vocab), data.add_space_prefix.value_or(true)),
      space_prefix_(data.add_space_prefix.value_or(true)),
      remove_extra_spaces_(data.remove_extra_whitespaces) {
  rank_scores(data.scores);
  find_inner_pairs();
  for (int b = 0; b < 256; ++b) byte_fallback_ &= vocab_.byte_token(static_cast<uint8_t>(b)) >= 0;
  special_ = matcher_for([](TokenType t) { return t == TokenType::kControl || t == TokenType::kUnknown; });
  user_defined_ = matcher_for([](TokenType t) { return t == TokenType::kUserDefined; }, true);
}

void SpmTokenizer::rank_scores(const std::vector<float>& scores) {
  std::vector<float> distinct = scores;
  std::sort(distinct.begin(), distinct.end(), std::greater<>());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  ranks_.reserve(scores.size());
  for (float s : scores) {
    const auto at = std::lower_bound(distinct.begin(), distinct.end(), s, std::greater<>());
    ranks_.push_back(static_cast<uint32_t>(at - distinct.begin()));
  }
}

// Two neighbouring characters that are neighbours in no piece can never end up in one token, and BPE on the text
// before them does not see the text behind: the text may be cut there. That turns almost every space into a word
// boundary. The set of inner pairs is a hash filter; a false positive only misses a cut.
void SpmTokenizer::find_inner_pairs() {
  size_t bytes = 0;
  for (TokenId id = 0; id < vocab_.size(); ++id) bytes += vocab_.bytes(id).size();
  inner_pairs_.assign(std::bit_ceil(std::clamp<size_t>(bytes * 4, 1u << 12, 1u << 22)), false);
  for (TokenId id = 0; id < vocab_.size(); ++id) {
    const TokenType type = vocab_.type(id);
    if (vocab_.is_special(id) || type == TokenType::kByte) continue;
    has_unused_ |= type == TokenType::kUnused;
    const std::string_view piece = vocab_.bytes(id);
    char32_t previous = 0;
    for (size_t pos = 0; pos < piece.size();) {
      const Utf8Char c = decode_utf8(piece, pos);
      if (pos > 0) inner_pairs_[pair_hash(previous, c.code_point) & (inner_pairs_.size() - 1)] = true;
      previous = c.code_point;
      pos += c.length;
    }
  }
}

bool SpmTokenizer::may_join(char32_t left, char32_t right) const {
  return inner_pairs_[pair_hash(left, right) & (inner_pairs_.size() - 1)];
}

// The state of one encode() call.
class SpmTokenizer::Encoder {
 public:
  Encoder(const SpmTokenizer& tokenizer, size_t text_bytes, std::vector<TokenId>& out)
      : tokenizer_(tokenizer), cache_(text_bytes), out_(out) {}

  // A stretch between special tokens.
  void add_text(std::string_view text) {
    const std::string& clean = texts_.emplace_back(normalize(text));
    stretch_begin_ = out_.size();
    split_at(
        tokenizer_.user_defined_, clean, [&](std::string_view t) { add_pieces(t); },
        [&](TokenId id) { out_.push_back(id); });
  }

 private:
  std::string normalize(std::string_view text) const {
    std::string shortened;
    if (tokenizer_.remove_extra_spaces_) text = shortened = without_extra_spaces(text);
    std::string out;
    out.reserve(text.size() + 1);
    if (tokenizer_.space_prefix_ && !text.empty()) out.push_back(' ');
    for (size_t pos = 0; pos < text.size();) {
      const size_t mark = std::min(text.find(kSpaceMark, pos), text.size());
      out.append(text, pos, mark - pos);
      if (mark < text.size()) out.push_back(' ');
      pos = mark + kSpaceMark.size();
    }
    if (tokenizer_.remove_extra_spaces_) out.resize(out.find_last_not_of(' ') + 1);
    return tokenizer_.byte_fallback_ ? out : to_valid_utf8(out);
  }

  // No space at the beginning, one in place of several. (U+2581 in the text is not a space here, but one at the end
  // goes with the spaces there: so does SentencePiece's normalizer.)
  static std::string without_extra_spaces(std::string_view text) {
    std::string out(text.substr(std::min(text.find_first_not_of(' '), text.size())));
    out.erase(std::unique(out.begin(), out.end(), [](char a, char b) { return a == ' ' && b == ' '; }), out.end());
    return out;
  }

  // Cuts the text where no merge can cross and encodes each word.
  void add_pieces(std::string_view text) {
    size_t begin = 0;
    char32_t previous = 0;
    for (size_t pos = 0; pos < text.size();) {
      const Utf8Char c = decode_utf8(text, pos);
      const bool cut =
          pos > begin && (!tokenizer_.may_join(previous, c.code_point) || pos - begin >= BpeMerger::kMaxWord);
      if (cut) add_word(text.substr(begin, pos - begin));
      if (cut) begin = pos;
      previous = c.code_point;
      pos += c.length;
    }
    add_word(text.substr(begin));
  }

  void add_word(std::string_view word) {
    // Unknown tokens join across words, which a cached word cannot know.
    if (!tokenizer_.byte_fallback_) return merge(word);
    cache_.append(word, out_, [&] { merge(word); });
  }

  void merge(std::string_view word) {
    std::vector<BpeMerger::Symbol>& symbols = merger_.symbols();
    symbols.clear();
    for (size_t pos = 0; pos < word.size();) {
      const size_t length = decode_utf8(word, pos).length;
      BpeMerger::Symbol& s = symbols.emplace_back();
      s.begin = static_cast<uint32_t>(pos);
      s.end = static_cast<uint32_t>(pos += length);
    }
    left_parts_.clear();
    merger_.run([&](const BpeMerger::Symbol& left, const BpeMerger::Symbol& right, uint32_t& rank, TokenId& merged) {
      const std::string_view piece = word.substr(left.begin, right.end - left.begin);
      merged = tokenizer_.vocab_.find(piece);
      if (merged < 0) return false;
      rank = tokenizer_.ranks_[static_cast<size_t>(merged)];
      if (tokenizer_.has_unused_ && tokenizer_.vocab_.type(merged) == TokenType::kUnused) {
        left_parts_[piece] = left.end - left.begin;
      }
      return true;
    });
    for (const BpeMerger::Symbol& s : symbols) emit(word.substr(s.begin, s.end - s.begin));
  }

  // An unused piece is taken apart again into what it was merged from.
  void emit(std::string_view whole) {
    parts_.assign(1, whole);
    while (!parts_.empty()) {
      const std::string_view piece = parts_.back();
      parts_.pop_back();
      const TokenId id = tokenizer_.vocab_.find(piece);
      const bool unused = id >= 0 && tokenizer_.vocab_.type(id) == TokenType::kUnused;
      const auto left = unused ? left_parts_.find(piece) : left_parts_.end();
      if (left != left_parts_.end()) {
        parts_.push_back(piece.substr(left->second));
        parts_.push_back(piece.substr(0, left->second));
      } else if (id >= 0) {
        out_.push_back(id);
      } else {
        emit_unknown(piece);
      }
    }
  }

  void emit_unknown(std::string_view piece) {
    if (tokenizer_.byte_fallback_) {
      for (char c : piece) out_.push_back(tokenizer_.vocab_.byte_token(static_cast<uint8_t>(c)));
      return;
    }
    const TokenId unknown = tokenizer_.vocab_.unknown();
    if (unknown < 0 || (out_.size() > stretch_begin_ && out_.back() == unknown)) return;
    out_.push_back(unknown);
  }

  const SpmTokenizer& tokenizer_;
  WordCache cache_;
  BpeMerger merger_;
  std::vector<TokenId>& out_;
  size_t stretch_begin_ = 0;
  std::unordered_map<std::string_view, size_t> left_parts_;  // of unused pieces: where they were joined
  std::vector<std::string_view> parts_;                      // still to emit, last first
  std::deque<std::string> texts_;                            // the cache refers to words in them
};

std::vector<TokenId> SpmTokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  std::vector<TokenId> out;
  out.reserve(text.size() / 4 + 2);
  if (options.add_special && vocab_.add_bos()) out.push_back(vocab_.bos());
  Encoder encoder(*this, text.size(), out);
  static const SpecialMatcher none;
  split_at(
      options.parse_special ? special_ : none, text, [&](std::string_view t) { encoder.add_text(t); },
      [&](TokenId id) { out.push_back(id); });
  if (options.add_special && vocab_.add_eos()) out.push_back(vocab_.eos());
  return out;
}

}  // namespace toccata
