#include "server/chat_prompt.h"

#include <algorithm>
#include <unordered_map>

#include <boost/json.hpp>

#include "text/chat_template/chat.h"

namespace toccata::server {
namespace json = boost::json;

namespace {

// A control token's name in a message becomes OPEN number CLOSE before rendering; both are noncharacters of Unicode.
// A message that has OPEN itself gets it treated the same way.
constexpr std::string_view kOpen = "\xEF\xB7\x90", kClose = "\xEF\xB7\x91";

class Mask {
 public:
  explicit Mask(const Tokenizer& tokenizer) {
    add(std::string(kOpen));
    for (TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
      if (tokenizer.token_type(id) == TokenType::kControl) add(std::string(tokenizer.token_text(id)));
    }
    for (auto& [start, list] : by_start_) {  // the longest name that fits wins
      std::sort(list.begin(), list.end(), [&](size_t a, size_t b) { return names_[a].size() > names_[b].size(); });
    }
  }

  std::string hide(std::string_view text) const {
    std::string out;
    size_t kept = 0;
    for (size_t at = 0; at + 1 < text.size(); ++at) {
      const std::optional<size_t> found = match(text.substr(at));
      if (!found) continue;
      out.append(text, kept, at - kept).append(kOpen).append(std::to_string(*found)).append(kClose);
      kept = at + names_[*found].size();
      at = kept - 1;
    }
    if (kept == 0) return std::string(text);
    return out.append(text.substr(kept));
  }

  // Encodes with control tokens recognised outside the hidden names, which become plain text again.
  std::vector<TokenId> encode(const Tokenizer& tokenizer, std::string_view text) const {
    std::vector<TokenId> ids;
    const auto append = [&](std::string_view part, bool special) {
      if (part.empty()) return;
      const std::vector<TokenId> more = tokenizer.encode(part, {.parse_special = special, .add_special = false});
      ids.insert(ids.end(), more.begin(), more.end());
    };
    while (!text.empty()) {
      const size_t open = text.find(kOpen);
      append(text.substr(0, open), true);
      if (open == std::string_view::npos) break;
      text.remove_prefix(open + kOpen.size());
      const size_t close = text.find(kClose);
      size_t number = 0;
      for (const char c : text.substr(0, std::min<size_t>(close, 9)))
        number = number * 10 + static_cast<size_t>(c - '0');
      if (close == std::string_view::npos || number >= names_.size()) continue;  // a template that cut the mark
      append(names_[number], false);
      text.remove_prefix(close + kClose.size());
    }
    return ids;
  }

 private:
  static uint32_t start_of(std::string_view s) {  // of at least two bytes
    return static_cast<unsigned char>(s[0]) | static_cast<uint32_t>(static_cast<unsigned char>(s[1])) << 8 |
           (s.size() > 2 ? static_cast<uint32_t>(static_cast<unsigned char>(s[2])) << 16 : 0);
  }
  void add(std::string name) {
    if (name.size() < 3) return;  // no real control token; one letter must stay a letter
    by_start_[start_of(name)].push_back(names_.size());
    names_.push_back(std::move(name));
  }
  std::optional<size_t> match(std::string_view text) const {
    const auto found = by_start_.find(start_of(text));
    if (found == by_start_.end()) return std::nullopt;
    for (const size_t i : found->second) {
      if (text.starts_with(names_[i])) return i;
    }
    return std::nullopt;
  }

  std::vector<std::string> names_;
  std::unordered_map<uint32_t, std::vector<size_t>> by_start_;
};

// All strings of the value, names of members included.
void hide_all(json::value& value, const Mask& mask) {
  if (json::string* s = value.if_string()) {
    const std::string hidden = mask.hide({s->data(), s->size()});
    if (hidden.size() != s->size()) s->assign(hidden);
  } else if (json::array* a = value.if_array()) {
    for (json::value& v : *a) hide_all(v, mask);
  } else if (json::object* o = value.if_object()) {
    json::object safe(o->storage());
    for (auto& member : *o) {
      hide_all(member.value(), mask);
      safe[mask.hide({member.key().data(), member.key().size()})] = std::move(member.value());
    }
    *o = std::move(safe);
  }
}

json::array hidden(const json::array& list, const Mask& mask) {
  json::array copy(list);
  for (json::value& v : copy) hide_all(v, mask);
  return copy;
}

std::optional<std::string> name_of(const Tokenizer& tokenizer, TokenId id) {
  if (id < 0) return std::nullopt;
  return std::string(tokenizer.token_text(id));
}

}  // namespace

struct ChatPrompts::Impl {
  const Tokenizer& tokenizer;
  ChatTemplate chat;
  Mask mask;
};

ChatPrompts::ChatPrompts(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ChatPrompts::ChatPrompts(ChatPrompts&&) noexcept = default;
ChatPrompts::~ChatPrompts() = default;

Result<ChatPrompts> ChatPrompts::create(const Tokenizer& tokenizer, const std::string& source) {
  Result<ChatTemplate> chat = ChatTemplate::parse(source);
  if (!chat) return fail(chat.error().code, "the model's chat template cannot be used: " + chat.error().message);
  return ChatPrompts(std::make_unique<Impl>(Impl{tokenizer, std::move(*chat), Mask(tokenizer)}));
}

Result<std::vector<TokenId>> ChatPrompts::encode(const json::array& messages, const json::array* tools,
                                                 const Options& options) const {
  const json::array safe_messages = hidden(messages, impl_->mask);
  const json::array safe_tools = tools != nullptr ? hidden(*tools, impl_->mask) : json::array();
  json::value variables = options.variables != nullptr ? json::value(*options.variables) : json::value(json::object());
  hide_all(variables, impl_->mask);
  ChatInput input;
  input.messages = &safe_messages;
  input.tools = tools != nullptr && !tools->empty() ? &safe_tools : nullptr;
  input.bos_token = name_of(impl_->tokenizer, impl_->tokenizer.bos());
  input.eos_token = name_of(impl_->tokenizer, impl_->tokenizer.eos());
  input.add_generation_prompt = options.add_generation_prompt;
  input.continue_final_message = options.continue_final_message;
  input.variables = &variables.get_object();
  const Result<std::string> text = render_chat(impl_->chat, input);
  if (!text) return tl::unexpected(text.error());
  return impl_->mask.encode(impl_->tokenizer, *text);
}

bool ChatPrompts::mentions(std::string_view word) const { return impl_->chat.source().find(word) != std::string::npos; }

ToolFormat ChatPrompts::tool_format() const {
  if (!mentions("tools")) return ToolFormat::kNone;
  if (mentions("[TOOL_CALLS]")) return ToolFormat::kMistral;
  if (mentions("<tool_call>")) return ToolFormat::kHermes;
  return ToolFormat::kLlama3;
}

}  // namespace toccata::server
