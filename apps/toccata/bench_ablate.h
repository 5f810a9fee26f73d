// `toccata bench ablate`.
#pragma once

namespace toccata::cli {

int bench_ablate_main(int argc, char** argv);

}  // namespace toccata::cli
