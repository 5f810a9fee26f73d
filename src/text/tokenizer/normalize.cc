#include "text/tokenizer/normalize.h"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uniset.h>

#include <algorithm>

#include "base/check.h"

namespace toccata {

namespace {

// Hugging Face's tokenizers normalise by the tables of Unicode 9.0 (found by probing release 0.23 with every character
// that has a combining class or a decomposition): newer characters stay as they are and nothing moves past them.
class Unicode9Nfc {
 public:
  Unicode9Nfc()
      : characters_(UNICODE_STRING_SIMPLE("[:age=9.0:]"), status_),
        filtered_(*icu::Normalizer2::getNFCInstance(status_), *characters_.freeze()) {
    TOCCATA_CHECK(U_SUCCESS(status_));  // the data is built into the library
  }
  const icu::Normalizer2& get() const { return filtered_; }

 private:
  UErrorCode status_ = U_ZERO_ERROR;
  icu::UnicodeSet characters_;
  icu::FilteredNormalizer2 filtered_;
};

const icu::Normalizer2& nfc() {
  static const Unicode9Nfc instance;
  return instance.get();
}

// ICU counts in int32_t. A piece ends at a character, and a cut inside a combining sequence of more than 2^30 bytes
// is the only place where the result could depend on it.
std::string_view take_piece(std::string_view& text) {
  size_t n = std::min(text.size(), size_t{1} << 30);
  while (n < text.size() && (static_cast<unsigned char>(text[n]) & 0xC0) == 0x80) --n;
  const std::string_view piece = text.substr(0, n);
  text.remove_prefix(n);
  return piece;
}

icu::StringPiece view(std::string_view s) { return icu::StringPiece(s.data(), static_cast<int32_t>(s.size())); }

}  // namespace

bool is_nfc(std::string_view text) {
  // Everything below U+0300 (first bytes below CC) is in NFC and composes with nothing before it.
  const auto needs_check = [](char c) { return static_cast<unsigned char>(c) >= 0xCC; };
  if (std::none_of(text.begin(), text.end(), needs_check)) return true;
  while (!text.empty()) {
    UErrorCode status = U_ZERO_ERROR;
    if (!nfc().isNormalizedUTF8(view(take_piece(text)), status)) return false;
    TOCCATA_CHECK(U_SUCCESS(status));
  }
  return true;
}

std::string to_nfc(std::string_view text) {
  std::string out;
  icu::StringByteSink<std::string> sink(&out);
  while (!text.empty()) {
    UErrorCode status = U_ZERO_ERROR;
    nfc().normalizeUTF8(0, view(take_piece(text)), sink, nullptr, status);
    TOCCATA_CHECK(U_SUCCESS(status));
  }
  return out;
}

}  // namespace toccata
