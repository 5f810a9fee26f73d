// `toccata eval`: compare with reference outputs, measure perplexity, dump logits.
#include <algorithm>
#include <cstdio>

#include <boost/json/serialize.hpp>

#include "commands.h"
#include "eval_cases.h"
#include "eval_perplexity.h"
#include "interrupt.h"
#include "output.h"

namespace toccata::cli {
namespace {

struct Options {
  ModelOptions model;
  std::string cases, out, perplexity, divergence;
  DumpOptions dump;
  bool interval_given = false;
};

void declare(ArgParser& parser, Options& o) {
  add_model_path(parser, o.model);
  parser.text("--cases", o.cases, "REF.json", "reference file of kind tok, piece, chat, logits, greedy, ppl or kv");
  parser.text("--out", o.out, "OUT.jsonl", "where the answers go, one JSON object a line; '-' or absent: stdout");
  parser.text("--perplexity", o.perplexity, "TEXT", "perplexity of a text file in windows of -c tokens (512)");
  parser.text(
      "--divergence", o.divergence, "TEXT",
      "KL divergence and agreement of the top token against an f16 cache of all tokens, in the same windows; under a "
      "KV policy of the tokens behind the budget");
  parser.group("Logits as bits");
  parser.text("--logits-dump", o.dump.file, "FILE", "write the logits of the last tokens of -f as raw f32 rows");
  parser.flag("--dump-hash", o.dump.hashes, "print position and XXH3-64 of each of these rows");
  parser.text("-f,--file", o.dump.prompt_path, "FILE", "the prompt whose logits are dumped; '-': stdin");
  parser.integer("--dump-last", o.dump.last, 1, 1 << 20, "rows to dump, counted from the end");
  parser.integer("--prefix-chunk", o.dump.prefix_chunk, 0, 1 << 20, "chunk size before these rows; 0: --chunk-size");
  parser.integer("--neighbours", o.dump.neighbours, 0, 8, "other sequences that share every step");
  add_engine_options(parser, o.model);
  parser.footer(
      "Examples:\n"
      "  toccata eval -m model.gguf --cases logits.json --out out.jsonl && check_refs.py logits.json out.jsonl\n"
      "  toccata eval -m model.gguf --perplexity book.txt -c 512\n"
      "  toccata eval -m model.gguf --divergence book.txt -c 2048 --kv-cache-dtype q8_0\n"
      "  toccata eval -m model.gguf --divergence book.txt -c 2048 --kv-policy h2o --kv-budget 512\n"
      "  toccata eval -m model.gguf -f prompt.txt --dump-last 300 --chunk-size 7 --logits-dump a.f32");
}

Status emit_line(OutputFile* file, const boost::json::object& line) {
  const std::string text = boost::json::serialize(line) + "\n";
  return file != nullptr ? file->write(text) : write_stdout(text);
}

Status run_cases(const Options& o) {
  Result<Reference> reference = read_reference(o.cases);
  if (!reference) return tl::unexpected(reference.error());
  std::optional<OutputFile> file;
  if (!o.out.empty() && o.out != "-") {
    Result<OutputFile> created = OutputFile::create(o.out);
    if (!created) return tl::unexpected(created.error());
    file.emplace(std::move(*created));
  }
  const Emit emit = [&](boost::json::object line) -> Status {
    if (interrupted()) return fail(ErrorCode::kInternal, "interrupted");
    return emit_line(file ? &*file : nullptr, line);
  };
  Status s;
  if (reference->kind == "chat") {
    s = eval_chat(*reference, emit);
  } else if (reference->kind == "tok" || reference->kind == "piece") {
    Result<std::unique_ptr<LoadedModel>> m = load_text_side(o.model.path);
    if (!m) return tl::unexpected(m.error());
    s = (reference->kind == "tok" ? eval_tok : eval_piece)(*reference, *(*m)->tokenizer, emit);
  } else if (reference->kind == "kv") {
    ModelOptions model = o.model;
    if (!o.interval_given) model.kv.interval = 1;  // the rule of the papers, and of the references
    s = eval_kv(*reference, model, emit);
  } else {
    s = eval_model(*reference, o.model, emit);
  }
  if (!s || !file) return s;
  return file->close();
}

}  // namespace

int eval_main(int argc, char** argv) {
  Options o;
  ArgParser parser("toccata eval", "Compares a model with reference outputs, or measures its perplexity.");
  declare(parser, o);
  if (const std::optional<int> code = parser.parse(argc, argv)) return *code;
  const bool dump = !o.dump.file.empty() || o.dump.hashes;
  if ((o.cases.empty() ? 0 : 1) + (o.perplexity.empty() ? 0 : 1) + (o.divergence.empty() ? 0 : 1) + (dump ? 1 : 0) !=
      1) {
    return parser.usage_error("choose one of --cases, --perplexity, --divergence and --logits-dump or --dump-hash");
  }
  o.interval_given = parser.given("--kv-evict-interval");
  if (const int code = check_kv_options(parser, o.model.kv, o.model.attention)) return code;
  if (dump && o.dump.prompt_path.empty())
    return parser.usage_error("--logits-dump and --dump-hash need a prompt: -f FILE");
  install_signal_handlers();
  const Status s = dump                    ? eval_dump(o.model, o.dump)
                   : !o.divergence.empty() ? eval_divergence(o.model, o.divergence)
                   : o.perplexity.empty()  ? run_cases(o)
                                           : eval_perplexity(o.model, o.perplexity);
  if (interrupted()) return 130;
  return s ? 0 : report("eval", s.error());
}

}  // namespace toccata::cli
