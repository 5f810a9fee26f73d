#include "line_reader.h"

#include <histedit.h>
#include <langinfo.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstring>
#include <cwchar>

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

constexpr int kLookMs = 100;  // how often a waiting reader looks for Ctrl-C

// The next character. libedit's own function blocks in read(): a Ctrl-C that comes after its last look at the flag and
// before that call, or that another thread's handler takes, would not be seen until a key is pressed.
int get_character(EditLine*, wchar_t* out) {
  std::mbstate_t state{};
  for (;;) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const int ready = interrupted() ? -1 : poll(&input, 1, kLookMs);
    if (interrupted()) {
      errno = EINTR;
      return -1;
    }
    if (ready <= 0) continue;
    char byte = 0;
    const ssize_t n = read(STDIN_FILENO, &byte, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return static_cast<int>(n);
    const size_t used = std::mbrtowc(out, &byte, 1, &state);
    if (used == static_cast<size_t>(-1)) state = {};  // no character: the byte is dropped
    if (used <= 1) return 1;
  }
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
  el_set(impl_->edit, EL_GETCFN, get_character);
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
