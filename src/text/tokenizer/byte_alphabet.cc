#include "text/tokenizer/byte_alphabet.h"

#include <array>

#include "text/tokenizer/utf8_runs.h"

namespace toccata {

namespace {

constexpr int kShifted = 68;  // bytes that are not printable in Latin-1

struct Alphabet {
  std::array<char32_t, 256> letter{};
  std::array<int16_t, 256 + kShifted> byte{};
};

constexpr bool stands_for_itself(int b) { return (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE; }

constexpr Alphabet make_alphabet() {
  Alphabet a;
  a.byte.fill(-1);
  char32_t next = 0x100;
  for (int b = 0; b < 256; ++b) {
    const char32_t letter = stands_for_itself(b) ? static_cast<char32_t>(b) : next++;
    a.letter[static_cast<size_t>(b)] = letter;
    a.byte[letter] = static_cast<int16_t>(b);
  }
  return a;
}

constexpr Alphabet kAlphabet = make_alphabet();
static_assert(kAlphabet.letter[' '] == 0x120 && kAlphabet.letter[0xAD] == 0x100 + kShifted - 1);

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

char32_t byte_to_letter(uint8_t byte) { return kAlphabet.letter[byte]; }

int letter_to_byte(char32_t code_point) { return code_point < kAlphabet.byte.size() ? kAlphabet.byte[code_point] : -1; }

void append_letters_as_bytes(std::string_view text, std::string& out) {
  const size_t before = out.size();
  for (size_t pos = 0; pos < text.size();) {
    const Utf8Char c = decode_utf8(text, pos);
    const int b = c.valid ? letter_to_byte(c.code_point) : -1;
    if (b < 0) {
      out.replace(before, std::string::npos, text);
      return;
    }
    out.push_back(static_cast<char>(b));
    pos += c.length;
  }
}

std::string bytes_to_letters(std::string_view bytes) {
  std::string out;
  for (char c : bytes) utf8::append(out, byte_to_letter(static_cast<uint8_t>(c)));
  return out;
}

int parse_byte_token(std::string_view text) {
  if (text.size() != 6 || text.substr(0, 3) != "<0x" || text[5] != '>') return -1;
  const int high = hex_digit(text[3]), low = hex_digit(text[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

}  // namespace toccata
