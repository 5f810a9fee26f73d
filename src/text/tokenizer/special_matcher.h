// Finds special and user-defined tokens in text, longest first at each position.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/tokenizer/tokenizer.h"

namespace toccata {

// The patterns are kept sorted; the candidates that share the first d bytes with the text are then one range, which
// each further byte narrows by bisection. A position costs O(longest pattern), and most fail at the first byte.
class SpecialMatcher {
 public:
  SpecialMatcher() = default;
  // Empty patterns are ignored; of equal ones the lowest id stays.
  explicit SpecialMatcher(std::vector<std::pair<std::string, TokenId>> patterns);

  struct Match {
    size_t begin = std::string_view::npos;  // npos: none
    size_t length = 0;
    TokenId id = -1;
  };
  // The leftmost match at or after `from`, the longest at its position.
  Match find(std::string_view text, size_t from) const;

 private:
  Match match_at(std::string_view text, size_t pos) const;

  std::vector<std::pair<std::string, TokenId>> patterns_;
  std::array<uint32_t, 257> first_{};  // patterns that begin with byte b are [first_[b], first_[b + 1])
};

}  // namespace toccata
