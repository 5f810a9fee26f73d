// The token table that both tokenizer families share: texts, bytes, types, a piece index and the special ids.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/vocab_data.h"
#include "toccata/result.h"

namespace toccata {

// How a normal token's stored text stands for bytes.
enum class TextForm {
  kByteLevel,  // one character a byte, in GPT-2's alphabet
  kSpaceMark,  // UTF-8 with U+2581 for a space
};

// Strings of any number in one allocation.
class StringTable {
 public:
  void reserve(size_t strings, size_t bytes);
  void add(std::string_view s);
  std::string_view operator[](size_t i) const {
    return std::string_view(bytes_).substr(ends_[i], ends_[i + 1] - ends_[i]);
  }
  size_t size() const { return ends_.size() - 1; }

 private:
  std::string bytes_;
  std::vector<uint32_t> ends_ = {0};
};

class Vocab {
 public:
  // Errors: kInvalidFile with the key (and the entry) that is out of range, of the wrong length or malformed.
  static Result<Vocab> build(const VocabData& data, TextForm form);

  int32_t size() const { return static_cast<int32_t>(types_.size()); }
  bool contains(TokenId id) const { return id >= 0 && id < size(); }
  TokenType type(TokenId id) const { return contains(id) ? types_[static_cast<size_t>(id)] : TokenType::kUnused; }
  std::string_view text(TokenId id) const {
    return contains(id) ? texts_[static_cast<size_t>(id)] : std::string_view();
  }
  std::string_view bytes(TokenId id) const {
    return contains(id) ? bytes_[static_cast<size_t>(id)] : std::string_view();
  }
  bool is_special(TokenId id) const { return type(id) == TokenType::kControl || type(id) == TokenType::kUnknown; }

  // The token whose bytes are `piece`, -1 when there is none. Of several the normal one wins, then the lowest id.
  // kSpaceMark leaves out control, unknown and byte tokens, as SentencePiece does.
  TokenId find(std::string_view piece) const;
  // The token that stands for a single byte, -1 when there is none.
  TokenId byte_token(uint8_t b) const { return byte_tokens_[b]; }

  TokenId bos() const { return bos_; }
  TokenId eos() const { return eos_; }
  TokenId unknown() const { return unknown_; }
  bool add_bos() const { return add_bos_; }
  bool add_eos() const { return add_eos_; }
  bool is_end(TokenId id) const { return contains(id) && end_[static_cast<size_t>(id)]; }

 private:
  struct Slot {
    uint32_t tag = 0;  // upper half of the hash
    TokenId id = -1;
  };
  Status check(const VocabData& data) const;
  Status fill(const VocabData& data, TextForm form);
  Status read_special_ids(const VocabData& data);
  void build_index(TextForm form);
  void insert(TokenId id);
  void find_byte_tokens(TextForm form);
  void find_end_tokens(const VocabData& data);

  StringTable texts_, bytes_;
  std::vector<TokenType> types_;
  std::vector<bool> end_;
  std::vector<Slot> index_;  // open addressing, a power of two, at most half full
  std::array<TokenId, 256> byte_tokens_{};
  TokenId bos_ = -1, eos_ = -1, unknown_ = -1;
  bool add_bos_ = false, add_eos_ = false;
};

}  // namespace toccata
