#include "line_reader.h"

#include <histedit.h>
#include <langinfo.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstring>

#include "interrupt.h"

namespace toccata::cli {

// The prompt and the line being edited go to stderr: stdout is for answers.
struct LineReader::Impl {
  EditLine* edit = nullptr;
  History* history = nullptr;
  HistEvent event{};
  bool continued = false;
};

namespace {

char* prompt_of(EditLine* edit) {
  static char first[] = "> ", next[] = ". ";
  void* data = nullptr;
  el_get(edit, EL_CLIENTDATA, &data);
  return static_cast<bool*>(data) != nullptr && *static_cast<bool*>(data) ? next : first;
}

}  // namespace

LineReader::LineReader(const char* program) : impl_(std::make_unique<Impl>()) {
  // libedit decodes its input with the locale; outside a UTF-8 locale it would refuse every umlaut.
  std::setlocale(LC_CTYPE, "");
  if (std::strcmp(nl_langinfo(CODESET), "UTF-8") != 0) std::setlocale(LC_CTYPE, "C.UTF-8");
  impl_->edit = el_init(program, stdin, stderr, stderr);
  impl_->history = history_init();
  history(impl_->history, &impl_->event, H_SETSIZE, 1000);
  history(impl_->history, &impl_->event, H_SETUNIQUE, 1);
  el_set(impl_->edit, EL_CLIENTDATA, &impl_->continued);
  el_set(impl_->edit, EL_PROMPT, prompt_of);
  el_set(impl_->edit, EL_HIST, history, impl_->history);
  el_set(impl_->edit, EL_EDITOR, "emacs");
  el_set(impl_->edit, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  el_source(impl_->edit, nullptr);  // the user's ~/.editrc
}

LineReader::~LineReader() {
  history_end(impl_->history);
  el_end(impl_->edit);
}

LineReader::Outcome LineReader::read(std::string& line) {
  line.clear();
  for (impl_->continued = false;; impl_->continued = true) {
    int count = 0;
    errno = 0;
    // Before the prompt is shown, not after: a Ctrl-D that the cooked terminal takes in between would be lost.
    el_set(impl_->edit, EL_PREP_TERM, 1);
    const char* text = el_gets(impl_->edit, &count);
    if (interrupted()) {
      std::fputc('\n', stderr);
      return Outcome::kInterrupted;
    }
    if (text == nullptr || count <= 0) return line.empty() ? Outcome::kEnd : Outcome::kLine;
    std::string part(text, static_cast<size_t>(count));
    if (!part.empty() && part.back() == '\n') part.pop_back();
    const bool more = !part.empty() && part.back() == '\\';
    if (more) part.back() = '\n';
    line += part;
    if (!more) break;
  }
  if (!line.empty()) history(impl_->history, &impl_->event, H_ENTER, line.c_str());
  return Outcome::kLine;
}

}  // namespace toccata::cli
