#include "interrupt.h"

#include <unistd.h>

#include <csignal>

namespace toccata::cli {
namespace {

volatile std::sig_atomic_t g_interrupts = 0;

void on_interrupt(int) {
  if (g_interrupts > 0) _exit(130);
  g_interrupts = 1;
}

}  // namespace

void install_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;  // without SA_RESTART: a waiting read() must return
  sigaction(SIGINT, &action, nullptr);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, nullptr);
}

bool interrupted() { return g_interrupts > 0; }
void clear_interrupt() { g_interrupts = 0; }

}  // namespace toccata::cli
