// `toccata eval`: a reference file and the evaluators of its kinds.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "loaded_model.h"
#include "options.h"

namespace toccata::cli {

struct Reference {
  std::string path;
  std::string kind;             // tok, piece, chat, logits, greedy, ppl or kv
  boost::json::object content;  // the whole file
  const boost::json::array& cases() const { return content.at("cases").as_array(); }
};

// Errors: kInvalidFile (not JSON, a field missing, an id given twice), kUnsupported (a kind that is not offered).
Result<Reference> read_reference(const std::string& path);

// Takes one line of output; an error ends the evaluation.
using Emit = std::function<Status(boost::json::object)>;

Status eval_tok(const Reference& reference, const Tokenizer& tokenizer, const Emit& emit);
Status eval_piece(const Reference& reference, const Tokenizer& tokenizer, const Emit& emit);
Status eval_chat(const Reference& reference, const Emit& emit);
// logits, greedy and ppl: they load the model with the context that the longest case needs.
Status eval_model(const Reference& reference, const ModelOptions& options, const Emit& emit);
// kv: bounded caches. The policy, its budget and its sinks are the case's; the interval is the options', or 1
// where these do not give one, as in the references.
Status eval_kv(const Reference& reference, const ModelOptions& options, const Emit& emit);

// "case 'id'", for messages; cases are checked to have an id.
std::string case_name(const boost::json::object& c);

}  // namespace toccata::cli
