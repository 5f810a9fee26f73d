// The global functions: those of jinja2 (range, dict, namespace, cycler, joiner, lipsum) and of transformers
// (raise_exception, strftime_now).
#include <algorithm>

#include "text/chat_template/builtins.h"
#include "text/chat_template/fault.h"
#include "text/chat_template/interpreter.h"
#include "text/chat_template/limits.h"
#include "text/chat_template/ops.h"
#include "text/chat_template/strftime.h"

namespace toccata::jinja {
namespace {

Value make_range(Interpreter& in, Args& args) {
  if (!args.keyword.empty()) raise("range() takes no keyword arguments");
  const auto a = bind<3>("range", args, {"start", "stop", "step"}, 1, 3);
  const Int start = a[1].is_missing() ? 0 : as_index(a[0]);
  const Int stop = as_index(a[1].is_missing() ? a[0] : a[1]);
  const Int step = int_or(a[2], 1);
  if (step == 0) raise("range() arg 3 must not be zero");
  Int distance = 0;
  const bool overflow =
      step > 0 ? __builtin_sub_overflow(stop, start, &distance) : __builtin_sub_overflow(start, stop, &distance);
  if (overflow) refuse("integers of more than 127 bits");
  auto stride = static_cast<unsigned __int128>(step);
  if (step < 0) stride = -stride;
  const auto length = distance <= 0 ? 0 : (static_cast<unsigned __int128>(distance) - 1) / stride + 1;
  if (length > static_cast<unsigned __int128>(kMaxRange)) {
    raise("Range too big. The sandbox blocks ranges larger than MAX_RANGE (" + std::to_string(kMaxRange) + ").");
  }
  return in.heap().make<Range>(start, stop, step, static_cast<size_t>(length));
}

// dict(mapping or pairs, **kwargs)
Dict* new_dict(Interpreter& in, Args& args) {
  Heap& heap = in.heap();
  if (args.positional.size() > 1) raise("dict expected at most 1 argument");
  Dict* out = heap.dict();
  if (!args.positional.empty()) {
    const Value& source = args.positional[0];
    if (const auto* dict = source.as<Dict>()) {
      for (const auto& [key, value] : dict->entries) out->set(heap, key, value);
    } else {
      for (const Value& pair : to_vector(heap, source)) {
        const auto items = to_vector(heap, pair);
        if (items.size() != 2) raise("dictionary update sequence element has the wrong length; 2 is required");
        out->set(heap, items[0], items[1]);
      }
    }
  }
  for (auto& [key, value] : args.keyword) out->set(heap, heap.str(key), std::move(value));
  return out;
}

Value make_dict(Interpreter& in, Args& args) { return new_dict(in, args); }

Value make_namespace(Interpreter& in, Args& args) {
  Dict* attributes = new_dict(in, args);
  for (const auto& entry : attributes->entries) check_namespace_name(entry.first);
  return in.heap().make<Namespace>(attributes);
}

Value make_cycler(Interpreter& in, Args& args) {
  if (!args.keyword.empty()) raise("cycler() takes no keyword arguments");
  if (args.positional.empty()) raise("at least one item has to be provided");
  in.heap().charge(args.positional.size() * sizeof(Value));
  return in.heap().make<Cycler>(std::move(args.positional));
}

Value make_joiner(Interpreter& in, Args& args) {
  const auto a = bind<1>("joiner", args, {"sep"});
  return in.heap().make<Joiner>(value_or(a[0], in.heap().str(", ")));
}

Value lipsum(Interpreter&, Args&) { refuse("the function 'lipsum' (its text is random)"); }

Value raise_exception(Interpreter& in, Args& args) {
  const auto a = bind<1>("raise_exception", args, {"message"}, 1);
  throw Fault{ErrorCode::kInvalidArgument, to_str(in.heap(), a[0]).text(), 0, true};
}

Value strftime_now(Interpreter& in, Args& args) {
  const auto a = bind<1>("strftime_now", args, {"format"}, 1);
  return in.heap().str(format_time(text_of(a[0], "strftime() argument 1"), in.local_time()));
}

constexpr std::pair<std::string_view, FunctionBody> kGlobals[] = {
    {"cycler", make_cycler},       {"dict", make_dict},
    {"joiner", make_joiner},       {"lipsum", lipsum},
    {"namespace", make_namespace}, {"raise_exception", raise_exception},
    {"range", make_range},         {"strftime_now", strftime_now},
};

}  // namespace

void check_namespace_name(const Value& name) {
  if (name.is_string() && !name.text().empty() && name.text()[0] == '_') {
    raise("Chat templates cannot store underscore-prefixed attributes on a namespace, but got " +
          repr_string(name.text()));
  }
}

Value dict_from_keys(Interpreter& in, Args& args) {
  const auto a = bind<2>("fromkeys", args, {"iterable", "value"}, 1, 2);
  Dict* out = in.heap().dict();
  for (const Value& key : to_vector(in.heap(), a[0])) out->set(in.heap(), key, value_or(a[1], None{}));
  return out;
}

Value find_global(Heap& heap, std::string_view name) {
  for (const auto& [known, body] : kGlobals) {
    if (known == name) return heap.make<Function>(known, body);
  }
  return Missing{};
}

}  // namespace toccata::jinja
