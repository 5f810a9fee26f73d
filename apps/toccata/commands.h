// One function per subcommand. argv[0] is the subcommand's name; the return value is the exit code:
// 0 success, 1 a file or the engine failed (one line on stderr), 2 wrong usage, 130 interrupted.
#pragma once

namespace toccata::cli {

int run_main(int argc, char** argv);
int serve_main(int argc, char** argv);
int inspect_main(int argc, char** argv);
int tokenize_main(int argc, char** argv);
int detokenize_main(int argc, char** argv);
int eval_main(int argc, char** argv);
int bench_main(int argc, char** argv);
int simulate_main(int argc, char** argv);
int plan_main(int argc, char** argv);
int completion_main(int argc, char** argv);

}  // namespace toccata::cli
