// Any values as a vocabulary: refused with one line, or a tokenizer that keeps its promises.
// Bytes 0 to 7 choose the model, the pre-tokenizer and the special ids; then come lines: a line that begins with a
// digit is a token (the digit: its type; the next byte: its score), one that begins with 'm' a merge, and the rest is
// the text to encode.
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>

#include "text/tokenizer/pretokenizer.h"
#include "text/tokenizer/vocab_data.h"

namespace {

using namespace toccata;

void require(bool condition) {
  if (!condition) std::abort();
}

float score_of(char c) {
  if (c == '!') return std::numeric_limits<float>::quiet_NaN();
  if (c == '-') return -std::numeric_limits<float>::infinity();
  return static_cast<float>(c);
}

std::optional<TokenId> id_of(uint8_t b) {
  if (b == 0) return std::nullopt;
  return static_cast<TokenId>(static_cast<int8_t>(b));
}

void exercise(const Tokenizer& t, std::string_view text) {
  for (bool special : {false, true}) {
    const std::vector<TokenId> ids = t.encode(text, {.parse_special = special, .add_special = special});
    for (TokenId id : ids) require(id >= 0 && id < t.vocab_size());
    t.decode(ids, special);
  }
  for (TokenId id = -1; id <= t.vocab_size(); ++id) {
    t.token_bytes(id);
    t.token_text(id);
    t.is_end(id);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 8) return 0;
  VocabData vocab;
  vocab.model = data[0] % 3 == 0 ? "gpt2" : data[0] % 3 == 1 ? "llama" : "other";
  const auto& specs = all_pretokenizers();
  vocab.pre = data[1] < specs.size() ? std::string(specs[data[1]].name) : std::string(data[1] % 2, '\n');
  vocab.bos = id_of(data[2]);
  vocab.eos = id_of(data[3]);
  vocab.eot = id_of(data[4]);
  vocab.unknown = id_of(data[5]);
  const uint8_t flags = data[6];
  if ((flags & 1) != 0) vocab.add_bos = (flags & 2) != 0;
  if ((flags & 4) != 0) vocab.add_space_prefix = (flags & 8) != 0;
  vocab.add_eos = (flags & 16) != 0;
  vocab.remove_extra_whitespaces = (flags & 32) != 0;
  std::string_view rest(reinterpret_cast<const char*>(data) + 8, size - 8);
  while (rest.size() > 1 && ((rest[0] >= '0' && rest[0] <= '9') || rest[0] == 'm')) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line[0] == 'm') {
      vocab.merges.push_back(line.substr(1));
      continue;
    }
    vocab.tokens.push_back(line.substr(std::min<size_t>(line.size(), 2)));
    if (line[0] <= '6') vocab.types.push_back(static_cast<TokenType>(std::max(1, line[0] - '0')));
    vocab.scores.push_back(line.size() > 1 ? score_of(line[1]) : 0);
  }
  const auto made = make_tokenizer(vocab);
  if (made) {
    exercise(**made, rest);
  } else {
    const std::string& message = made.error().message;
    require(!message.empty() && message.size() < 500 && message.find('\n') == std::string::npos);
  }
  return 0;
}
