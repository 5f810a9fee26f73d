#include "text/tokenizer/byte_bpe_tokenizer.h"

#include <bit>
#include <deque>

#include "text/tokenizer/bpe_merge.h"
#include "text/tokenizer/byte_alphabet.h"
#include "text/tokenizer/normalize.h"
#include "text/tokenizer/utf8_runs.h"
#include "text/tokenizer/word_cache.h"

namespace toccata {

MergeTable::MergeTable(size_t merges)
    : slots_(std::bit_ceil(merges * 2 + 2)), shift_(64 - std::countr_zero(slots_.size())) {}

size_t MergeTable::start(TokenId left, TokenId right) const {
  const uint64_t key = uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  return key * 0x9E3779B97F4A7C15u >> shift_;  // Fibonacci hashing
}

void MergeTable::set(TokenId left, TokenId right, uint32_t rank, TokenId merged) {
  size_t i = start(left, right);
  while (slots_[i].left >= 0 && (slots_[i].left != left || slots_[i].right != right)) i = (i + 1) & (slots_.size() - 1);
  slots_[i] = {left, right, rank, merged};
}

bool MergeTable::find(TokenId left, TokenId right, uint32_t& rank, TokenId& merged) const {
  for (size_t i = start(left, right); slots_[i].left >= 0; i = (i + 1) & (slots_.size() - 1)) {
    if (slots_[i].left != left || slots_[i].right != right) continue;
    rank = slots_[i].rank;
    merged = slots_[i].merged;
    return true;
  }
  return false;
}

ByteBpeTokenizer::ByteBpeTokenizer(Vocab vocab, const PreTokenizerSpec& spec, size_t merges)
    : VocabTokenizer(std::move(vocab), false),
      pretokenizer_(spec),
      merges_(merges),
      nfc_(spec.nfc),
      ignore_merges_(spec.ignore_merges) {
  const auto special = [](TokenType t) { return t == TokenType::kControl || t == TokenType::kUnknown; };
  all_special_ = matcher_for([&](TokenType t) { return special(t) || t == TokenType::kUserDefined; });
  user_defined_ = matcher_for([](TokenType t) { return t == TokenType::kUserDefined; });
}

Result<std::unique_ptr<Tokenizer>> ByteBpeTokenizer::create(const VocabData& data) {
  const PreTokenizerSpec* spec = find_pretokenizer(data.pre.empty() ? "default" : data.pre);
  if (spec == nullptr) {
    return fail(ErrorCode::kUnsupported, "tokenizer.ggml.pre = \"" + gguf::printable(data.pre) +
                                             "\" is a pre-tokenizer that toccata does not know");
  }
  VocabData resolved = data;
  if (!resolved.add_bos && resolved.bos) resolved.add_bos = spec->add_bos;
  Result<Vocab> vocab = Vocab::build(resolved, TextForm::kByteLevel);
  if (!vocab) return tl::unexpected(vocab.error());
  std::unique_ptr<ByteBpeTokenizer> tokenizer(new ByteBpeTokenizer(std::move(*vocab), *spec, data.merges.size()));
  if (Status s = tokenizer->read_merges(data.merges); !s) return tl::unexpected(s.error());
  return std::unique_ptr<Tokenizer>(std::move(tokenizer));
}

Status ByteBpeTokenizer::read_merges(const std::vector<std::string_view>& merges) {
  const auto bad = [&](size_t i, std::string_view why) {
    return fail(ErrorCode::kInvalidFile, "tokenizer.ggml.merges[" + std::to_string(i) + "] = \"" +
                                             gguf::printable(merges[i]) + "\" " + std::string(why));
  };
  std::string bytes;  // of the merged token: the left part's, then the right part's
  for (size_t i = 0; i < merges.size(); ++i) {
    const std::string_view m = merges[i];
    const size_t space = m.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == m.size() || m.find(' ', space + 1) != std::string_view::npos) {
      return bad(i, "is not of the form \"left right\"");
    }
    bytes.clear();
    append_letters_as_bytes(m.substr(0, space), bytes);
    const size_t left_bytes = bytes.size();
    append_letters_as_bytes(m.substr(space + 1), bytes);
    const std::string_view both = bytes;
    const TokenId left = vocab_.find(both.substr(0, left_bytes)), right = vocab_.find(both.substr(left_bytes));
    if (left < 0 || right < 0) return bad(i, "joins a text that is not in tokenizer.ggml.tokens");
    const TokenId merged = vocab_.find(both);
    if (merged < 0) return bad(i, "makes a text that is not in tokenizer.ggml.tokens");
    merges_.set(left, right, static_cast<uint32_t>(i), merged);
  }
  return {};
}

// The state of one encode() call.
class ByteBpeTokenizer::Encoder {
 public:
  Encoder(const ByteBpeTokenizer& tokenizer, size_t text_bytes, std::vector<TokenId>& out)
      : tokenizer_(tokenizer), cache_(text_bytes), out_(out) {}

  void add_text(std::string_view text) {
    for (size_t pos = 0; pos < text.size();) {
      const size_t valid = valid_run_end(text, pos);
      if (valid > pos) add_valid(text.substr(pos, valid - pos));
      pos = invalid_run_end(text, valid);
      if (pos > valid) add_invalid(text.substr(valid, pos - valid));
    }
  }

 private:
  void add_valid(std::string_view text) {
    if (tokenizer_.nfc_ && !is_nfc(text)) text = normalized_.emplace_back(to_nfc(text));
    ends_.clear();
    tokenizer_.pretokenizer_.split(text, ends_);
    size_t begin = 0;
    for (size_t end : ends_) {
      const std::string_view word = text.substr(begin, end - begin);
      cache_.append(word, out_, [&] { add_word(word); });
      begin = end;
    }
  }

  void add_invalid(std::string_view bytes) {
    std::string replaced;
    for (char c : bytes) {
      if (tokenizer_.vocab_.byte_token(static_cast<uint8_t>(c)) >= 0) {
        replaced.push_back(c);
      } else {
        replaced += "\xEF\xBF\xBD";
      }
    }
    add_word(replaced);
  }

  void add_word(std::string_view word) {
    const Vocab& vocab = tokenizer_.vocab_;
    if (tokenizer_.ignore_merges_) {
      const TokenId whole = vocab.find(word);
      if (whole >= 0 && vocab.type(whole) == TokenType::kNormal) return out_.push_back(whole);
    }
    for (; word.size() > BpeMerger::kMaxWord; word.remove_prefix(BpeMerger::kMaxWord)) {
      merge(word.substr(0, BpeMerger::kMaxWord));
    }
    merge(word);
  }

  void merge(std::string_view word) {
    std::vector<BpeMerger::Symbol>& symbols = merger_.symbols();
    symbols.clear();
    for (char c : word) {
      const TokenId id = tokenizer_.vocab_.byte_token(static_cast<uint8_t>(c));
      if (id >= 0) symbols.emplace_back().id = id;
    }
    merger_.run([this](const BpeMerger::Symbol& left, const BpeMerger::Symbol& right, uint32_t& rank, TokenId& merged) {
      return tokenizer_.merges_.find(left.id, right.id, rank, merged);
    });
    for (const BpeMerger::Symbol& s : symbols) out_.push_back(s.id);
  }

  const ByteBpeTokenizer& tokenizer_;
  WordCache cache_;
  BpeMerger merger_;
  std::vector<TokenId>& out_;
  std::vector<size_t> ends_;
  std::deque<std::string> normalized_;  // the cache refers to words in them
};

std::vector<TokenId> ByteBpeTokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  std::vector<TokenId> out;
  out.reserve(text.size() / 4 + 2);
  if (options.add_special && vocab_.add_bos()) out.push_back(vocab_.bos());
  Encoder encoder(*this, text.size(), out);
  split_at(
      options.parse_special ? all_special_ : user_defined_, text, [&](std::string_view t) { encoder.add_text(t); },
      [&](TokenId id) { out.push_back(id); });
  if (options.add_special && vocab_.add_eos()) out.push_back(vocab_.eos());
  return out;
}

}  // namespace toccata
