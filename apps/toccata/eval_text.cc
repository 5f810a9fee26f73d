// The kinds tok and piece: no weights are needed.
#include "eval_cases.h"
#include "json_reader.h"
#include "text/tokenizer/utf8_runs.h"

namespace toccata::cli {
namespace json = boost::json;
namespace {

json::array ids_array(const std::vector<TokenId>& ids) { return json::array(ids.begin(), ids.end()); }

}  // namespace

Status eval_tok(const Reference& reference, const Tokenizer& tokenizer, const Emit& emit) {
  for (const json::value& v : reference.cases()) {
    const json::object& c = v.as_object();
    const Result<std::string> text = json_string(c, "text", case_name(c));
    if (!text) return tl::unexpected(text.error());
    const std::vector<TokenId> ids = tokenizer.encode(*text, {.parse_special = true, .add_special = false});
    const std::vector<TokenId> plain = tokenizer.encode(*text, {.parse_special = false, .add_special = false});
    Status s = emit({{"id", c.at("id")},
                     {"ids", ids_array(ids)},
                     {"ids_no_special", ids_array(plain)},
                     {"decoded", to_valid_utf8(tokenizer.decode(ids))}});
    if (!s) return s;
  }
  return {};
}

Status eval_piece(const Reference& reference, const Tokenizer& tokenizer, const Emit& emit) {
  for (const json::value& v : reference.cases()) {
    const json::object& c = v.as_object();
    const Result<int64_t> token = json_integer(c, "token", 0, tokenizer.vocab_size() - 1, case_name(c));
    if (!token) return tl::unexpected(token.error());
    std::string hex;
    for (const char b : tokenizer.token_bytes(static_cast<TokenId>(*token))) {
      constexpr char kDigits[] = "0123456789abcdef";
      hex += kDigits[static_cast<unsigned char>(b) >> 4];
      hex += kDigits[static_cast<unsigned char>(b) & 15];
    }
    if (Status s = emit({{"id", c.at("id")}, {"hex", hex}}); !s) return s;
  }
  return {};
}

}  // namespace toccata::cli
