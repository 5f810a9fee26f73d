// GPT-2's alphabet: a printable character for each byte, so that a BPE vocabulary can be stored as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace toccata {

// Bytes 21..7E, A1..AC and AE..FF stand for themselves (as code points); the other 68, in ascending order, are
// U+0100, U+0101, ... (bytes_to_unicode in OpenAI's gpt-2 encoder.py).
char32_t byte_to_letter(uint8_t byte);
// -1 when the code point is no letter of the alphabet.
int letter_to_byte(char32_t code_point);

// Appends the bytes that a stored text stands for. A text with a character outside the alphabet stands for itself, as
// in Hugging Face's ByteLevel decoder.
void append_letters_as_bytes(std::string_view text, std::string& out);
std::string bytes_to_letters(std::string_view bytes);

// "<0x0A>" -> 10; -1 for any other text.
int parse_byte_token(std::string_view text);

}  // namespace toccata
