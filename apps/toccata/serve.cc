// `toccata serve`: the HTTP server.
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "arg_parser.h"
#include "commands.h"
#include "loaded_model.h"
#include "options.h"
#include "server/server.h"
#include "trace_option.h"

namespace toccata::cli {
namespace {

struct Options {
  EngineOptions engine;
  server::ServerOptions server;
  int64_t threads = 0, http_threads = 1, port = 8080;
  float itl_target = 0, shutdown_timeout = 10;
  std::string kv_memory = "auto", chunk_size = "auto", key_file;
  int64_t body_mib = 8;
  bool no_chunked = false, no_prefix_caching = false, no_metrics = false, no_webui = false;
  SpeculationOptions speculation;
  std::string spec_corpus = "own";
  std::vector<std::string> names;
  std::vector<int64_t> kv_skip_layers;
  TraceOption trace;
};

void declare_engine(ArgParser& parser, Options& o) {
  parser.group("Engine");
  parser.integer("-c,--max-model-len,--ctx-size", o.engine.context, 0, 1 << 30,
                 "most tokens of one request, prompt and answer; 0: the model's, as far as the KV memory holds it");
  parser.integer("-t,--threads", o.threads, 0, 1024, "threads; 0: one per CPU");
  parser.text("--kv-memory", o.kv_memory, "SIZE",
              "memory of the KV cache, as 512M or 2.5G; auto: half of what is free");
  add_cache_types(parser, o.engine.cache_type_k, o.engine.cache_type_v, o.engine.kv_rotate, o.kv_skip_layers);
  add_kv_options(parser, o.engine.kv);
  parser.integer("--max-num-seqs", o.engine.max_sequences, 1, 4096, "requests that run at once");
  parser.integer("--max-queue", o.engine.max_waiting, 1, 1 << 20, "requests that wait; more get status 429");
  parser.integer("--max-queue-tokens", o.engine.max_waiting_tokens, 1, int64_t{1} << 40,
                 "prompt tokens that wait; more get status 429");
  parser.text("--chunk-size", o.chunk_size, "N|auto",
              "prompt tokens per step while others generate; auto: as many as keep their pace");
  parser.number("--itl-target", o.itl_target, 0, 1e6f,
                "milliseconds between two tokens that auto keeps to; 0: about eight plain steps");
  parser.flag("--no-chunked-prefill", o.no_chunked, "read each prompt in one go while everybody waits, for comparison");
  parser.flag("--no-prefix-caching", o.no_prefix_caching, "compute every prompt from its first token");
  o.trace.declare(parser);
}

void declare_http(ArgParser& parser, Options& o) {
  server::HttpOptions& http = o.server.http;
  server::ServiceOptions& service = o.server.service;
  parser.group("HTTP");
  parser.text("--host", http.host, "ADDRESS", "address to listen on; 0.0.0.0: all");
  parser.integer("--port", o.port, 0, 65535, "port; 0: any free one");
  parser.texts("--served-model-name", o.names, "NAME", "name in the API instead of the file's; several may be given");
  parser.texts("--api-key", service.api_keys, "KEY", "require this key; several may be given (also: TOCCATA_API_KEY)");
  parser.text("--api-key-file", o.key_file, "FILE", "require one of the keys in the file, one a line");
  parser.texts("--cors-origin", service.cors_origins, "ORIGIN", "let pages of this origin call the API; '*': any");
  parser.number("--shutdown-timeout", o.shutdown_timeout, 0, 86400, "seconds for running requests after SIGTERM");
  parser.integer("--max-connections", http.max_connections, 1, 1 << 20, "open connections; more are turned away");
  parser.integer("--max-body", o.body_mib, 1, 1024, "MiB of a request's body; more get status 413");
  parser.integer("--http-threads", o.http_threads, 1, 64, "threads for connections");
  parser.flag("--no-metrics", o.no_metrics, "no /metrics and no /debug/steps");
  parser.flag("--no-webui", o.no_webui, "no web page at /");
  parser.flag("--log-requests", service.log_requests, "one line on stderr for each request");
}

void declare(ArgParser& parser, Options& o) {
  parser.text("-m,--model", o.engine.model, "FILE", "GGUF model; of a split model any part");
  declare_engine(parser, o);
  add_speculation_options(parser, o.speculation);
  parser.choice("--spec-corpus", o.spec_corpus, {"own", "shared"},
                "where suffix looks: in the request's own text, or in earlier answers of the same cache_salt, too");
  declare_http(parser, o);
  parser.footer(
      "The API is OpenAI's: /v1/chat/completions, /v1/completions, /v1/models. TLS: behind a proxy.\n"
      "\n"
      "Examples:\n"
      "  toccata serve -m model.gguf\n"
      "  toccata serve -m model.gguf --host 0.0.0.0 --port 8000 --api-key-file keys.txt\n"
      "  toccata serve -m model.gguf --max-num-seqs 16 --kv-memory 2G --itl-target 150");
}

// 0, or the exit code of a usage error.
int resolve(const ArgParser& parser, Options& o) {
  if (o.engine.model.empty()) return parser.usage_error("no model given: use -m FILE");
  if (const int code = check_kv_options(parser, o.engine.kv, "flash")) return code;
  if (o.kv_memory != "auto") {
    const std::optional<uint64_t> bytes = parse_size(o.kv_memory);
    if (!bytes) return parser.usage_error(wrong_size("--kv-memory", o.kv_memory));
    o.engine.kv_memory = *bytes;
  }
  if (o.chunk_size != "auto") {
    const std::optional<int64_t> n = parse_integer(o.chunk_size);
    if (!n || *n < 1 || *n > 65536)
      return parser.usage_error("--chunk-size must be 1 to 65536, or auto, not " + cli::quoted(o.chunk_size));
    o.engine.chunk_size = *n;
  }
  if (o.no_chunked && (parser.given("--chunk-size") || parser.given("--itl-target"))) {
    return parser.usage_error("--no-chunked-prefill reads prompts whole: drop --chunk-size and --itl-target");
  }
  if (parser.given("--chunk-size") && o.engine.chunk_size > 0 && parser.given("--itl-target")) {
    return parser.usage_error("--itl-target chooses the chunk: drop --chunk-size, or make it auto");
  }
  const Result<SpeculationParams> speculation = resolve_speculation(o.speculation);
  if (!speculation) return parser.usage_error(speculation.error().message);
  o.engine.speculation = *speculation;
  o.engine.draft_model = o.speculation.draft_model;
  o.engine.shared_spec_corpus = o.spec_corpus == "shared";
  for (const std::string& key : o.server.service.api_keys) {
    if (key.empty()) return parser.usage_error("--api-key must not be empty");
  }
  o.engine.kv_skip_layers.assign(o.kv_skip_layers.begin(), o.kv_skip_layers.end());
  o.engine.itl_target_ms = static_cast<double>(o.itl_target);
  o.engine.threads = static_cast<int>(o.threads);
  o.engine.chunked_prefill = !o.no_chunked;
  o.engine.prefix_caching = !o.no_prefix_caching;
  o.server.http.port = static_cast<uint16_t>(o.port);
  o.server.http.threads = static_cast<int>(o.http_threads);
  o.server.http.limits.body = static_cast<uint64_t>(o.body_mib) << 20;
  o.server.service.metrics = !o.no_metrics;
  o.server.service.webui = !o.no_webui;
  o.server.service.version = TOCCATA_VERSION;
  o.server.shutdown_seconds = static_cast<double>(o.shutdown_timeout);
  return 0;
}

Status add_keys(Options& o) {
  std::vector<std::string>& keys = o.server.service.api_keys;
  if (const char* key = std::getenv("TOCCATA_API_KEY"); key != nullptr && *key != '\0') keys.emplace_back(key);
  if (o.key_file.empty()) return {};
  const Result<std::vector<std::string>> more = server::read_key_file(o.key_file);
  if (!more) return tl::unexpected(more.error());
  keys.insert(keys.end(), more->begin(), more->end());
  return {};
}

// The part of the model that needs no weights; a file that is damaged is found out here, before a port is open.
Result<server::TextSide> text_side(const Options& o) {
  Result<std::unique_ptr<LoadedModel>> loaded = load_text_side(o.engine.model);
  if (!loaded) return tl::unexpected(loaded.error());
  if (const auto config = model::read_config(*(*loaded)->file); !config) return tl::unexpected(config.error());
  server::TextSide text;
  text.tokenizer = std::move((*loaded)->tokenizer);
  text.names = o.names;
  if (text.names.empty()) text.names.push_back(std::filesystem::path(o.engine.model).stem().string());
  text.created = static_cast<int64_t>(std::time(nullptr));
  const Result<std::optional<std::string_view>> source = (*loaded)->file->get_string("tokenizer.chat_template");
  if (!source) return tl::unexpected(source.error());
  if (!*source) return text;
  Result<server::ChatPrompts> chat = server::ChatPrompts::create(*text.tokenizer, std::string(**source));
  if (chat) {
    text.chat.emplace(std::move(*chat));
  } else {
    text.no_chat_reason = chat.error().message;
    std::fprintf(stderr, "toccata serve: no chat, only /v1/completions: %s\n", chat.error().message.c_str());
  }
  return text;
}

}  // namespace

int serve_main(int argc, char** argv) {
  Options o;
  ArgParser parser("toccata serve", "Serves a model over HTTP with OpenAI's API.");
  declare(parser, o);
  if (const std::optional<int> code = parser.parse(argc, argv)) return *code;
  if (const int code = resolve(parser, o)) return code;
  if (const Status keys = add_keys(o); !keys) return report("serve", keys.error());
  if (Status s = o.trace.open(); !s) return report("serve", s.error());
  o.engine.trace = o.trace.file();
  Result<server::TextSide> text = text_side(o);
  if (!text) return report("serve", text.error());
  return o.trace.close("serve", server::serve(o.server, std::move(*text), [&o] { return Engine::start(o.engine); }));
}

}  // namespace toccata::cli
