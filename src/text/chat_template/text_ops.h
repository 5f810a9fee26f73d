// Text operations that methods and filters of strings share. No values, only UTF-8 text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "text/chat_template/heap.h"

namespace toccata::jinja {

// str.strip, lstrip, rstrip: whitespace, or the characters of `chars`.
std::string_view strip_text(std::string_view text, const std::string* chars, bool left, bool right);
// str.split, rsplit: at whitespace, or at `sep` (not empty); at most `limit` splits unless it is negative.
std::vector<std::string_view> split_text(std::string_view text, const std::string* sep, Int limit, bool from_right);
// str.splitlines.
std::vector<std::string_view> lines_of(std::string_view text, bool keep_ends);
// str.replace; `count` < 0 replaces all. Checked against the heap before it is built.
std::string replace_text(Heap& heap, std::string_view text, std::string_view old, std::string_view with, Int count);
// str.islower (lower) or str.isupper: some cased characters, all of that case.
bool has_case(std::string_view text, bool lower);

std::string repeat_text(std::string_view text, size_t times);
// `count` as a size, after a check that so many units can be held; 0 when it is negative.
size_t bounded_size(const Heap& heap, Int count, size_t unit_bytes);

}  // namespace toccata::jinja
