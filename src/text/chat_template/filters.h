// The tables of filters, by theme; find_filter (builtins.h) looks through them.
#pragma once

#include <string_view>
#include <utility>

#include "text/chat_template/builtins.h"

namespace toccata::jinja {

using FilterEntry = std::pair<std::string_view, FilterBody>;

FilterBody find_text_filter(std::string_view name);
FilterBody find_markup_filter(std::string_view name);
FilterBody find_sequence_filter(std::string_view name);
FilterBody find_selection_filter(std::string_view name);
FilterBody find_value_filter(std::string_view name);

template <size_t N>
FilterBody find_entry(const FilterEntry (&entries)[N], std::string_view name) {
  for (const auto& [known, body] : entries) {
    if (known == name) return body;
  }
  return nullptr;
}

}  // namespace toccata::jinja
