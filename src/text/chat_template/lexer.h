// Template text to tokens, with jinja2's whitespace rules: trim_blocks, lstrip_blocks, '-' and '+' at the tags, one
// newline at the end dropped, \r\n and \r read as \n.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/chat_template/objects.h"

namespace toccata::jinja {

enum class TokenKind : uint8_t {
  kData,
  kVariableBegin,
  kVariableEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;  // data, name, decoded string, or the operator itself
  Value number;      // of kInteger and kFloat
  int line = 1;
};

// Always ends with a kEnd token. Faults on a syntax error, or when `source` is not UTF-8.
std::vector<Token> tokenize(std::string_view source);

// The token as error messages name it.
std::string describe(const Token& token);

}  // namespace toccata::jinja
