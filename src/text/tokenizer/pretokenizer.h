// Splits text into the words that byte-level BPE merges within.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "toccata/result.h"

namespace toccata {

// One `Split` of a Hugging Face pre-tokenizer sequence: every match of the pattern, and every stretch between
// matches, becomes a piece of its own. In patterns \s means Unicode's White_Space.
struct SplitStage {
  const char* pattern = nullptr;
  bool on_bytes = false;  // matches bytes, not characters (a split that comes after the byte-level mapping)
};

enum class Scanner {
  kNone,        // regular expressions only
  kGpt2,        // GPT-2's pattern
  kDigitsGpt2,  // each digit alone, then GPT-2's pattern between the digits
  kCased,       // the cl100k family, see CasedRules
};

// What differs inside the family of patterns that began with OpenAI's cl100k_base.
struct CasedRules {
  int max_digits = 1;              // \p{N}{1,max_digits}
  bool marks_are_letters = false;  // [\p{L}\p{M}] in place of \p{L}
};

// Everything that tokenizer.ggml.pre stands for.
struct PreTokenizerSpec {
  std::string_view name;
  std::vector<SplitStage> stages;    // applied in order, each to every piece of the one before
  Scanner scanner = Scanner::kNone;  // splits as the stages do, without a regular expression
  CasedRules rules;
  bool nfc = false;            // the text is normalised to NFC first
  bool ignore_merges = false;  // a word that is a token is not merged from its parts
  bool add_bos = false;        // the default where tokenizer.ggml.add_bos_token is absent
};

// nullptr for an unknown name.
const PreTokenizerSpec* find_pretokenizer(std::string_view name);
// All of them, for tests and messages.
const std::vector<PreTokenizerSpec>& all_pretokenizers();

class PreTokenizer {
 public:
  enum class Engine { kFastest, kRegex };  // kRegex never uses a scanner: the oracle of the tests

  explicit PreTokenizer(const PreTokenizerSpec& spec, Engine engine = Engine::kFastest);
  ~PreTokenizer();
  PreTokenizer(PreTokenizer&&) noexcept;
  PreTokenizer& operator=(PreTokenizer&&) noexcept;

  // Appends the end of every piece of `text` to `ends`; the pieces cover the text, none is empty. `text` must be
  // well-formed UTF-8. Safe to call from several threads.
  void split(std::string_view text, std::vector<size_t>& ends) const;

 private:
  class Regex;
  const PreTokenizerSpec* spec_;
  Engine engine_;
  std::vector<Regex> regexes_;
};

}  // namespace toccata
