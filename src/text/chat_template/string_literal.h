// String literals of a template: Python's "unicode-escape" decoding.
#pragma once

#include <string>
#include <string_view>

namespace toccata::jinja {

// `body` is the text between the quotes. Faults on a truncated escape and on code points that are no characters.
std::string decode_string_literal(std::string_view body);

}  // namespace toccata::jinja
