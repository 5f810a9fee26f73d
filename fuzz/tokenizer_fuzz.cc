// Any bytes as text, for small vocabularies of both families: what is encoded decodes to the same text.
// Byte 0 of the input chooses the vocabulary, byte 1 the options, the rest is the text.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "text/tokenizer/pretokenizer.h"
#include "text/tokenizer/test_vocab.h"
#include "text/tokenizer/utf8_runs.h"

namespace {

using namespace toccata;

void require(bool condition) {
  if (!condition) std::abort();
}

struct Variant {
  std::unique_ptr<Tokenizer> tokenizer;
  bool nfc = false;         // the text may be normalised
  bool every_byte = true;   // bytes without a piece have tokens
  bool space_mark = false;  // U+2581 counts as a space
};

std::unique_ptr<Tokenizer> byte_level(std::string_view pre) {
  TestVocab v = TestVocab::byte_level(pre);
  for (auto pair : {"a b", "ab c", "a a", "aa aa", "b c", "1 2", "Ġ a", "Ġ Ġ", "ĠĠ ĠĠ", "' s", "Ã ©", "â ģ"}) {
    const std::string_view text = pair;
    v.merge(text);
    std::string joined(text);
    joined.erase(joined.find(' '), 1);
    v.add(joined);
  }
  for (auto text : {"<s>", "<s><s>", "</s>", "é", "a<"}) v.add(text, TokenType::kControl);
  for (auto text : {"<u>", "  \n", "<s>u"}) v.add(text, TokenType::kUserDefined);
  return v.build();
}

std::unique_ptr<Tokenizer> sentence_piece(bool bytes, bool prefix, bool remove_extra) {
  TestVocab v = TestVocab::sentence_piece(bytes);
  float score = 0;
  for (auto text : {"▁", "a", "b", "c", "▁a", "aa", "ab", "abc", "▁▁", "a▁", "é", "aaaa"}) {
    v.add(text, TokenType::kNormal, score -= 1);
  }
  v.add("bc", TokenType::kUnused, -2.5f);
  for (auto text : {"<u>", "   ", "a<"}) v.add(text, TokenType::kUserDefined);
  v.data.add_space_prefix = prefix;
  v.data.remove_extra_whitespaces = remove_extra;
  return v.build();
}

std::vector<Variant> make_variants() {
  std::vector<Variant> out;
  for (const PreTokenizerSpec& spec : all_pretokenizers()) out.push_back({byte_level(spec.name), spec.nfc});
  for (int i = 0; i < 8; ++i) {
    const bool bytes = (i & 1) != 0, prefix = (i & 2) != 0, remove_extra = (i & 4) != 0;
    out.push_back({sentence_piece(bytes, prefix, remove_extra), false, bytes && !prefix && !remove_extra, true});
  }
  for (const Variant& v : out) require(v.tokenizer != nullptr);
  return out;
}

void check(const Variant& variant, std::string text, bool parse_special) {
  const Tokenizer& t = *variant.tokenizer;
  const std::vector<TokenId> ids = t.encode(text, {.parse_special = parse_special});
  StreamDecoder stream(t, false);
  std::string streamed;
  for (TokenId id : ids) {
    require(id >= 0 && id < t.vocab_size());
    const std::string piece = stream.push(id);
    require(utf8::is_valid(piece));
    streamed += piece;
  }
  const std::string decoded = t.decode(ids);
  require(streamed + stream.flush() == to_valid_utf8(decoded));
  if (variant.space_mark) {
    for (size_t at; (at = text.find("\xE2\x96\x81")) != std::string::npos;) text.replace(at, 3, 1, ' ');
  }
  const bool ascii = std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (variant.every_byte && (ascii || !variant.nfc)) require(decoded == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<Variant> variants = make_variants();
  if (size < 2) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 2, size - 2);
  check(variants[data[0] % variants.size()], text, (data[1] & 1) != 0);
  return 0;
}
