#include "text/chat_template/chat_template.h"

#include <new>

#include "text/chat_template/fault.h"
#include "text/chat_template/interpreter.h"
#include "text/chat_template/limits.h"
#include "text/chat_template/parser.h"
#include "text/chat_template/resolver.h"
#include "text/chat_template/strftime.h"

namespace toccata {
namespace {

tl::unexpected<Error> to_error(const jinja::Fault& fault) {
  if (fault.verbatim || fault.line == 0) return fail(fault.code, fault.message);
  return fail(fault.code, "chat template, line " + std::to_string(fault.line) + ": " + fault.message);
}

// Runs `action`, turning the interpreter's exceptions into an Error.
template <class T, class Action>
Result<T> guarded(Action action) {
  try {
    return action();
  } catch (const jinja::Fault& fault) {
    return to_error(fault);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::kResourceExhausted, "out of memory in a chat template");
  }
}

}  // namespace

struct ChatTemplate::Impl {
  std::string source;
  jinja::Program program;
};

ChatTemplate::ChatTemplate(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

const std::string& ChatTemplate::source() const { return impl_->source; }

Result<ChatTemplate> ChatTemplate::parse(std::string_view source) {
  if (source.size() > jinja::kMaxTemplateBytes) {
    return fail(ErrorCode::kResourceExhausted,
                "the chat template is larger than " + std::to_string(jinja::kMaxTemplateBytes >> 10) + " KiB");
  }
  return guarded<ChatTemplate>([&]() -> Result<ChatTemplate> {
    auto impl = std::make_unique<Impl>();
    impl->source = source;
    impl->program = jinja::resolve_names(jinja::parse_template(source));
    return ChatTemplate(std::move(impl));
  });
}

Result<std::string> ChatTemplate::render(const boost::json::object& context, const Clock& clock) const {
  return guarded<std::string>([&]() -> Result<std::string> {
    jinja::Heap heap{jinja::Limits{}};
    jinja::Interpreter interpreter(impl_->program, heap, clock);
    return interpreter.render(context);
  });
}

Result<std::string> ChatTemplate::render(const boost::json::object& context) const {
  return render(context, jinja::local_time_now);
}

}  // namespace toccata
