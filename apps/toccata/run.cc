// `toccata run`: one prompt, or chat on a terminal.
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "commands.h"
#include "interrupt.h"
#include "output.h"
#include "run_chat.h"
#include "run_generate.h"
#include "run_prompt.h"
#include "run_report.h"
#include "trace_option.h"

namespace toccata::cli {
namespace {

struct Options {
  ModelOptions model;
  SamplingOptions sampling;
  SpeculationOptions speculation;
  GenerateOptions generate;
  std::string prompt, file, system;
  TraceOption trace;
  bool raw = false, no_stream = false, verbose = false, quiet = false;
};

void declare(ArgParser& parser, Options& o) {
  add_model_path(parser, o.model);
  parser.text("-p,--prompt", o.prompt, "TEXT", "the prompt");
  parser.text("-f,--file", o.file, "FILE", "the prompt from a file; '-': stdin. One newline at its end is dropped");
  parser.text("--system", o.system, "TEXT", "system message of the chat template");
  parser.flag("--raw", o.raw, "continue the prompt as it is, without the chat template");
  parser.integer("-n,--n-predict", o.generate.most_tokens, -1, 1 << 30, "most tokens of answer; -1: until it ends");
  parser.flag("--ignore-eos", o.generate.ignore_end,
              "never choose an end token (needs -n or stops at the context's end)");
  parser.texts("--stop", o.generate.stops, "TEXT", "end before this text; may be given several times");
  parser.flag("--no-stream", o.no_stream, "print the answer when it is complete");
  parser.flag("-q,--quiet", o.quiet, "no summary on stderr");
  parser.flag("-v,--verbose", o.verbose, "the model and the token ids of the prompt on stderr; in chats the summary");
  add_sampling_options(parser, o.sampling);
  add_speculation_options(parser, o.speculation);
  add_engine_options(parser, o.model);
  o.trace.declare(parser);
  parser.footer(
      "Without -p and -f the prompt comes from stdin, or on a terminal you chat.\n"
      "\n"
      "Examples:\n"
      "  toccata run -m model.gguf -p \"Why is the sky blue?\" --temp 0\n"
      "  toccata run -m model.gguf --system \"You translate to French.\" < letter.txt\n"
      "  toccata run -m model.gguf --raw -p \"def fibonacci(n):\" -n 64 --stop $'\\n\\n'\n"
      "  toccata run -m model.gguf -p \"Once upon a time\" --seed 7 -n 100    the same words each time");
}

bool is_terminal_chat(const ArgParser& parser) {
  return !parser.given("--prompt") && !parser.given("--file") && isatty(STDIN_FILENO) == 1;
}

Result<std::string> prompt_text(const ArgParser& parser, const Options& o) {
  if (parser.given("--prompt")) return o.prompt;
  Result<std::string> text = read_text(parser.given("--file") ? o.file : "-");
  if (text && !text->empty() && text->back() == '\n') {
    text->pop_back();
    if (!text->empty() && text->back() == '\r') text->pop_back();
  }
  return text;
}

Result<std::vector<TokenId>> prompt_tokens(const PromptMaker& prompts, const Options& o, const std::string& text) {
  if (!prompts.has_template()) return prompts.continue_text(text);
  std::vector<Message> messages;
  if (!o.system.empty()) messages.push_back({"system", o.system});
  messages.push_back({"user", text});
  return prompts.answer(messages);
}

// Streams to stdout, or collects nothing: the text is in Generation::text.
Listener make_listener(const Options& o, const LoadedModel& model) {
  Listener listener;
  listener.text = [stream = !o.no_stream](std::string_view text) { return stream ? write_stdout(text) : Status(); };
  if (o.sampling.logprobs >= 0) {
    listener.token = [&model](const TokenOutput& s) {
      std::fprintf(stderr, "%s\n", logprob_line(*model.tokenizer, s).c_str());
    };
  }
  return listener;
}

int finish(const Options& o, const LoadedModel& model, Generation& g, uint64_t seed) {
  if (g.output && o.no_stream) g.output = write_stdout(g.text);
  if (g.output && isatty(STDOUT_FILENO) == 1 && !g.text.empty() && g.text.back() != '\n') g.output = write_stdout("\n");
  if (!g.output) return report("run", g.output.error());
  note_finish(g, model);
  if (!o.quiet) print_summary(model, g, seed);
  return g.finish == Finish::kInterrupted ? 130 : 0;
}

void describe(const LoadedModel& m, const std::vector<TokenId>& prompt) {
  const model::ModelConfig& c = m.runner->config();
  std::fprintf(stderr, "model   %s, %s, %d layers, dim %d, vocabulary %lld\n", c.architecture.c_str(), c.name.c_str(),
               c.layers, c.dim, static_cast<long long>(c.vocab));
  std::fputs("prompt ", stderr);
  for (const TokenId id : prompt) std::fprintf(stderr, " %d", id);
  std::fputc('\n', stderr);
}

int run_once(const Options& o, const LoadedModel& model, const PromptMaker& prompts, Generator& generator,
             const std::string& text) {
  const Result<std::vector<TokenId>> prompt = prompt_tokens(prompts, o, text);
  if (!prompt) return report("run", prompt.error());
  if (o.verbose) describe(model, *prompt);
  Result<Generation> g = generator.generate(*prompt, o.generate, make_listener(o, model));
  if (!g) return report("run", g.error());
  return finish(o, model, *g, generator.seed());
}

Result<Generator> make_generator(const Options& o, const LoadedModel& model) {
  Result<SamplingParams> params = resolve_sampling(o.sampling, model.vocab());
  if (!params) return tl::unexpected(params.error());
  if (o.generate.ignore_end) {
    for (TokenId id = 0; id < model.tokenizer->vocab_size(); ++id) {
      if (model.tokenizer->is_end(id)) params->logit_bias.emplace_back(id, -INFINITY);
    }
  }
  const Result<SpeculationParams> speculation = resolve_speculation(o.speculation);
  if (!speculation) return tl::unexpected(speculation.error());
  Generator::Options options{std::move(*params), *speculation, nullptr, o.model.chunk, o.trace.file()};
  if (!o.speculation.draft_model.empty()) {
    Result<std::unique_ptr<spec::PacedDrafter>> draft = load_draft(o.speculation.draft_model, o.model, model);
    if (!draft) return tl::unexpected(draft.error());
    options.draft_model = std::move(*draft);
  }
  return Generator::create(model, std::move(options));
}

// 2: the options contradict each other.
int check(const ArgParser& parser, const Options& o) {
  if (o.model.path.empty()) return parser.usage_error("no model given: use -m FILE");
  if (parser.given("--prompt") && parser.given("--file")) return parser.usage_error("give -p or -f, not both");
  if (o.raw && !o.system.empty()) return parser.usage_error("--system needs the chat template: drop --raw");
  if (o.raw && is_terminal_chat(parser)) return parser.usage_error("--raw needs a prompt: use -p or -f");
  if (const int code = check_kv_options(parser, o.model.kv, o.model.attention)) return code;
  // What no vocabulary could make right.
  const auto sampling = resolve_sampling(o.sampling, INT32_MAX);
  if (!sampling) return parser.usage_error(sampling.error().message);
  const auto speculation = resolve_speculation(o.speculation);
  if (!speculation) return parser.usage_error(speculation.error().message);
  return 0;
}

int answer_or_chat(Options& o, bool chatting, const std::string& text) {
  Result<std::unique_ptr<LoadedModel>> model = load_model(o.model, Generator::needs(o.model));
  if (!model) return report("run", model.error());
  const Result<PromptMaker> prompts = PromptMaker::create(**model, o.raw);
  if (!prompts) return report("run", prompts.error());
  Result<Generator> generator = make_generator(o, **model);
  if (!generator) return report("run", generator.error());
  if (interrupted()) return 130;
  if (!chatting) {
    if (!o.raw && !prompts->has_template()) {
      std::fputs("toccata run: the model has no chat template, so the prompt is continued as with --raw\n", stderr);
    }
    return run_once(o, **model, *prompts, *generator, text);
  }
  if (!prompts->has_template()) {
    return report("run", {ErrorCode::kUnsupported, "the model has no chat template, so it cannot chat: use -p"});
  }
  const ChatOptions chat_options{o.generate, o.system, o.verbose};
  return chat(**model, *prompts, *generator, chat_options, make_listener(o, **model));
}

}  // namespace

int run_main(int argc, char** argv) {
  Options o;
  ArgParser parser("toccata run", "Answers a prompt, or chats on a terminal. The answer streams to stdout.");
  declare(parser, o);
  if (const std::optional<int> code = parser.parse(argc, argv)) return *code;
  if (const int code = check(parser, o)) return code;
  const bool chatting = is_terminal_chat(parser);
  if (chatting) o.no_stream = false;

  install_signal_handlers();
  Result<std::string> text = chatting ? Result<std::string>("") : prompt_text(parser, o);
  if (!text) return report("run", text.error());
  if (interrupted()) return 130;
  if (Status s = o.trace.open(); !s) return report("run", s.error());
  return o.trace.close("run", answer_or_chat(o, chatting, *text));
}

}  // namespace toccata::cli
