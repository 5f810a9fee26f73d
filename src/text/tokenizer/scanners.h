// Hand-written equivalents of the commonest pre-tokenizer patterns, several times faster than a regex engine.
#pragma once

#include <string_view>
#include <vector>

#include "text/tokenizer/pretokenizer.h"

namespace toccata {

// Each appends the ends of the pieces of `text` (well-formed UTF-8), as PreTokenizer::split does.

// 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
void scan_gpt2(std::string_view text, std::vector<size_t>& ends);

// \p{N}, then scan_gpt2's pattern on what lies between.
void scan_digits_gpt2(std::string_view text, std::vector<size_t>& ends);

// With L = \p{L} or [\p{L}\p{M}] and n as the rules say:
// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?L+|\p{N}{1,n}| ?[^\sL\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
void scan_cased(std::string_view text, const CasedRules& rules, std::vector<size_t>& ends);

}  // namespace toccata
