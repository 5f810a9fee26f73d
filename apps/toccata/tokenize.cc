// `toccata tokenize` and `toccata detokenize`: text to ids and back, one text or a line of JSON at a time.
#include <unistd.h>

#include <cstdio>
#include <memory>

#include <boost/json/serialize.hpp>

#include "arg_parser.h"
#include "commands.h"
#include "format/gguf/gguf.h"
#include "interrupt.h"
#include "json_reader.h"
#include "loaded_model.h"
#include "output.h"
#include "text/tokenizer/tokenizer.h"
#include "text/tokenizer/utf8_runs.h"
#include "token_lines.h"

namespace toccata::cli {
namespace json = boost::json;
namespace {

// Only the metadata is read; the weights stay on the disk.
Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& path) {
  const auto file = gguf::File::open(path);
  if (!file) return tl::unexpected(file.error());
  auto tokenizer = Tokenizer::from_gguf(**file);
  if (!tokenizer) return fail(tokenizer.error().code, quoted(path) + ": " + tokenizer.error().message);
  return tokenizer;
}

// A token's bytes on one line: text as it is, everything else as an escape.
std::string escaped(std::string_view bytes) {
  std::string out;
  for (size_t pos = 0; pos < bytes.size();) {
    const Utf8Char c = decode_utf8(bytes, pos);
    const bool control = c.code_point < 0x20 || (c.code_point >= 0x7F && c.code_point < 0xA0);
    if (c.code_point == '\n') {
      out += "\\n";
    } else if (c.code_point == '\t') {
      out += "\\t";
    } else if (c.code_point == '"' || c.code_point == '\\') {
      out += {'\\', static_cast<char>(c.code_point)};
    } else if (c.valid && !control) {
      out += bytes.substr(pos, c.length);
    } else {
      for (char b : bytes.substr(pos, c.length)) {
        constexpr char kDigits[] = "0123456789abcdef";
        out += {'\\', 'x', kDigits[static_cast<unsigned char>(b) >> 4], kDigits[static_cast<unsigned char>(b) & 15]};
      }
    }
    pos += c.length;
  }
  return out;
}

json::array ids_array(const std::vector<TokenId>& ids) { return json::array(ids.begin(), ids.end()); }

struct TokenizeOptions {
  std::string model, prompt, file;
  bool ids = false, json = false, jsonl = false, no_parse_special = false, add_special = false, show_count = false;
  Tokenizer::EncodeOptions encode() const { return {.parse_special = !no_parse_special, .add_special = add_special}; }
};

std::string render(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, const TokenizeOptions& options) {
  std::string out;
  if (options.json) {
    json::array tokens;
    for (TokenId id : ids) tokens.push_back(json::value(to_valid_utf8(tokenizer.token_bytes(id))));
    return json::serialize(
               json::object{{"count", ids.size()}, {"ids", ids_array(ids)}, {"tokens", std::move(tokens)}}) +
           "\n";
  }
  if (options.ids) {
    out = json::serialize(ids_array(ids)) + "\n";
  } else {
    for (TokenId id : ids) out += std::to_string(id) + "\t\"" + escaped(tokenizer.token_bytes(id)) + "\"\n";
  }
  if (options.show_count) out += "Total number of tokens: " + std::to_string(ids.size()) + "\n";
  return out;
}

Result<std::string> tokenize_line(const Tokenizer& tokenizer, const json::object& line, const std::string& where,
                                  const TokenizeOptions& options) {
  const Result<std::string> text = json_string(line, "text", where);
  if (!text) return tl::unexpected(text.error());
  Tokenizer::EncodeOptions plain = options.encode();
  plain.parse_special = false;
  const std::vector<TokenId> ids = tokenizer.encode(*text, options.encode());
  json::object out;
  if (const json::value* id = line.if_contains("id")) out["id"] = *id;
  out["ids"] = ids_array(ids);
  out["ids_no_special"] = ids_array(tokenizer.encode(*text, plain));
  out["decoded"] = to_valid_utf8(tokenizer.decode(ids));
  return json::serialize(out);
}

Status check_ids(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, const std::string& where) {
  for (TokenId id : ids) {
    if (id >= 0 && id < tokenizer.vocab_size()) continue;
    return fail(ErrorCode::kInvalidArgument, where + ": token id " + std::to_string(id) +
                                                 " is not in the vocabulary (0 to " +
                                                 std::to_string(tokenizer.vocab_size() - 1) + ")");
  }
  return {};
}

Result<std::string> detokenize_line(const Tokenizer& tokenizer, const json::object& line, const std::string& where,
                                    bool skip_special) {
  const Result<std::vector<int32_t>> ids = json_tokens(line, "ids", where);
  if (!ids) return tl::unexpected(ids.error());
  if (Status s = check_ids(tokenizer, *ids, where); !s) return tl::unexpected(s.error());
  json::object out;
  if (const json::value* id = line.if_contains("id")) out["id"] = *id;
  out["text"] = to_valid_utf8(tokenizer.decode(*ids, skip_special));
  return json::serialize(out);
}

// Ids as `tokenize --ids` prints them, or with white space between them.
Result<std::vector<TokenId>> parse_ids(std::string_view text) {
  std::vector<TokenId> ids;
  constexpr std::string_view kBetween = " \t\r\n,[]";
  for (size_t pos = 0; (pos = text.find_first_not_of(kBetween, pos)) != std::string_view::npos;) {
    const std::string_view word = text.substr(pos, text.find_first_of(kBetween, pos) - pos);
    const std::optional<int64_t> id = parse_integer(word);
    if (!id || *id < 0 || *id > INT32_MAX) {
      return fail(ErrorCode::kInvalidArgument, quoted(word) + " is not a token id");
    }
    ids.push_back(static_cast<TokenId>(*id));
    pos += word.size();
  }
  return ids;
}

int finish(const char* command, const Status& status) {
  if (interrupted()) return 130;
  return status ? 0 : report(command, status.error());
}

}  // namespace

int tokenize_main(int argc, char** argv) {
  constexpr const char* kCommand = "tokenize";
  ArgParser parser("toccata tokenize", "Shows the tokens of a text: id and bytes, one token a line.");
  TokenizeOptions options;
  parser.text("-m,--model", options.model, "FILE", "GGUF file (only its vocabulary is read)");
  parser.text("-p,--prompt", options.prompt, "TEXT", "the text; without -p and -f it comes from stdin");
  parser.text("-f,--file", options.file, "FILE", "read the text from a file ('-' is stdin)");
  parser.flag("--ids", options.ids, "print only the ids: [1, 2, 3]");
  parser.flag("--json", options.json, "one JSON object: count, ids, tokens");
  parser.flag("--jsonl", options.jsonl,
              "each line of stdin is {\"id\": ..., \"text\": ...}; answers {\"id\", \"ids\", \"ids_no_special\", "
              "\"decoded\"} a line");
  parser.flag("--no-parse-special", options.no_parse_special, "special tokens in the text are plain text");
  parser.flag("--add-special", options.add_special, "add BOS and EOS as the model asks for");
  parser.flag("--show-count", options.show_count, "end with the number of tokens");
  parser.footer(
      "Examples:\n"
      "  toccata tokenize -m model.gguf -p \"Hello, world\"\n"
      "  toccata tokenize -m model.gguf -f notes.txt --ids | toccata detokenize -m model.gguf");
  if (const auto code = parser.parse(argc, argv)) return *code;
  if (options.model.empty()) return parser.usage_error("-m MODEL is missing");
  if (options.ids && options.json) return parser.usage_error("--ids and --json exclude each other; give one of them");
  if (parser.given("-p") && parser.given("-f"))
    return parser.usage_error("-p and -f exclude each other; give one of them");
  if (options.jsonl && (parser.given("-p") || parser.given("-f") || options.ids || options.json)) {
    return parser.usage_error("--jsonl reads stdin and has its own output; leave out -p, -f, --ids and --json");
  }
  install_signal_handlers();
  const auto tokenizer = open_tokenizer(options.model);
  if (!tokenizer) return report(kCommand, tokenizer.error());
  if (options.jsonl) {
    return finish(kCommand, for_each_json_line([&](const json::object& line, const std::string& where) {
                    return tokenize_line(**tokenizer, line, where, options);
                  }));
  }
  Result<std::string> text = options.prompt;
  if (!parser.given("-p")) text = read_text(options.file.empty() ? "-" : options.file);
  if (!text) return report(kCommand, text.error());
  if (interrupted()) return 130;
  return finish(kCommand, write_stdout(render(**tokenizer, (*tokenizer)->encode(*text, options.encode()), options)));
}

int detokenize_main(int argc, char** argv) {
  constexpr const char* kCommand = "detokenize";
  ArgParser parser("toccata detokenize", "Turns token ids into text, byte for byte.");
  std::string model;
  std::vector<std::string> words;
  bool jsonl = false, skip_special = false;
  parser.positionals("ID", words, "token ids, with spaces or commas between them; without any they come from stdin");
  parser.text("-m,--model", model, "FILE", "GGUF file (only its vocabulary is read)");
  parser.flag("--skip-special", skip_special, "leave out control tokens");
  parser.flag("--jsonl", jsonl,
              "each line of stdin is {\"id\": ..., \"ids\": [...]}; answers {\"id\", \"text\"} a line (invalid UTF-8 "
              "as U+FFFD)");
  parser.footer("Example:\n  toccata detokenize -m model.gguf 9906 11 1917");
  if (const auto code = parser.parse(argc, argv)) return *code;
  if (model.empty()) return parser.usage_error("-m MODEL is missing");
  if (jsonl && !words.empty()) return parser.usage_error("--jsonl reads stdin; leave out the ids");
  std::string given;
  for (const std::string& w : words) given += w + " ";
  Result<std::vector<TokenId>> ids = parse_ids(given);
  if (!ids) return parser.usage_error(ids.error().message);
  install_signal_handlers();
  const auto tokenizer = open_tokenizer(model);
  if (!tokenizer) return report(kCommand, tokenizer.error());
  if (jsonl) {
    return finish(kCommand, for_each_json_line([&](const json::object& line, const std::string& where) {
                    return detokenize_line(**tokenizer, line, where, skip_special);
                  }));
  }
  if (words.empty()) {
    const Result<std::string> text = read_text("-");
    if (!text) return report(kCommand, text.error());
    if (interrupted()) return 130;
    ids = parse_ids(*text);
    if (!ids) return report(kCommand, {ids.error().code, "stdin: " + ids.error().message});
  }
  if (Status s = check_ids(**tokenizer, *ids, quoted(model)); !s) return report(kCommand, s.error());
  std::string text = (*tokenizer)->decode(*ids, skip_special);
  if (isatty(STDOUT_FILENO)) text += "\n";
  return finish(kCommand, write_stdout(text));
}

}  // namespace toccata::cli
