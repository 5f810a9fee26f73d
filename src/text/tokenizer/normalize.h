// Unicode normalisation form C as Hugging Face's tokenizers apply it, through ICU.
#pragma once

#include <string>
#include <string_view>

namespace toccata {

// Both need well-formed UTF-8.
bool is_nfc(std::string_view text);
std::string to_nfc(std::string_view text);

}  // namespace toccata
