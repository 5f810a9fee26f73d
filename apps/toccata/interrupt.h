// Ctrl-C: the first one asks the running answer to stop, the second one ends the program with exit code 130.
#pragma once

namespace toccata::cli {

// Installs the handler for SIGINT, and ignores SIGPIPE so that a closed pipe is an error of write() and not a
// signal that kills the process in the middle of a line.
void install_signal_handlers();

bool interrupted();
void clear_interrupt();

}  // namespace toccata::cli
