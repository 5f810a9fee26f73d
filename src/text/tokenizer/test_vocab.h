// Small vocabularies for the tests.
#pragma once

#include <deque>
#include <random>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "text/tokenizer/byte_alphabet.h"
#include "text/tokenizer/vocab_data.h"

namespace toccata {

// VocabData that owns its texts.
class TestVocab {
 public:
  VocabData data;

  TokenId add(std::string_view text, TokenType type = TokenType::kNormal, float score = 0) {
    data.tokens.push_back(texts_.emplace_back(text));
    data.types.push_back(type);
    data.scores.push_back(score);
    return static_cast<TokenId>(data.tokens.size() - 1);
  }
  void merge(std::string_view pair) { data.merges.push_back(texts_.emplace_back(pair)); }

  // Byte-level: a merge of two byte strings, and its token.
  TokenId join(std::string_view left, std::string_view right) {
    merge(bytes_to_letters(left) + " " + bytes_to_letters(right));
    return add(bytes_to_letters(std::string(left) + std::string(right)));
  }

  // All bytes as tokens 0 to 255.
  static TestVocab byte_level(std::string_view pre = "gpt-2") {
    TestVocab v;
    v.data.model = "gpt2";
    v.data.pre = pre;
    for (int b = 0; b < 256; ++b) v.add(bytes_to_letters(std::string(1, static_cast<char>(b))));
    return v;
  }

  // <unk>, <s>, </s>, then the 256 byte tokens if wanted.
  static TestVocab sentence_piece(bool bytes) {
    TestVocab v;
    v.data.model = "llama";
    v.add("<unk>", TokenType::kUnknown);
    v.add("<s>", TokenType::kControl);
    v.add("</s>", TokenType::kControl);
    for (int b = 0; bytes && b < 256; ++b) {
      constexpr char kDigits[] = "0123456789ABCDEF";
      v.add({'<', '0', 'x', kDigits[b >> 4], kDigits[b & 15], '>'}, TokenType::kByte);
    }
    return v;
  }

  TokenId add(std::initializer_list<char> text, TokenType type) { return add(std::string(text), type); }

  std::unique_ptr<Tokenizer> build() const {
    auto made = make_tokenizer(data);
    return made ? std::move(*made) : nullptr;
  }
  // The message of the refusal, "" when there is none.
  std::string refusal() const {
    const auto made = make_tokenizer(data);
    return made ? "" : made.error().message;
  }

 private:
  std::deque<std::string> texts_;
};

// Text that is rich in what the patterns tell apart: all planes, but mostly short scripts, marks and white space.
inline std::string random_text(std::mt19937& random, size_t characters) {
  constexpr char32_t kPicked[] = {' ',    ' ',    ' ',    '\n',  '\r',   '\t',   '\'',   '\'',    's',    'S',
                                  'l',    'L',    'e',    'V',   't',    '1',    '9',    '.',     '-',    0x17F,
                                  0x85,   0xA0,   0x300,  0x323, 0x180E, 0x1680, 0x2003, 0x2028,  0x2029, 0x200D,
                                  0x3000, 0x212A, 0x2160, 0xBD,  0x661,  0x4E2D, 0xAC00, 0x1F600, 0xFE0F, 0x93F};
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  std::string out;
  for (size_t i = 0; i < characters; ++i) {
    char32_t c = kPicked[below(std::size(kPicked))];
    switch (below(8)) {
      case 0:
        c = below(0x80);
        break;
      case 1:
        c = below(0x800);
        break;
      case 2:
        c = below(0x10000);
        break;
      case 3:
        c = below(0x110000);
        break;
      default:
        break;
    }
    if (c < 0xD800 || c > 0xDFFF) utf8::append(out, c);
  }
  return out;
}

inline std::string random_bytes(std::mt19937& random, size_t n) {
  std::string out;
  for (size_t i = 0; i < n; ++i) out.push_back(static_cast<char>(random()));
  return out;
}

}  // namespace toccata
