#include "model/matmul_jobs.h"

#include <algorithm>

namespace toccata::model {

namespace {

// Items per thread: enough to even out threads of unequal speed, few enough that taking one costs nothing.
constexpr int64_t kItemsPerThread = 12;

void run_range(const kernels::MatmulKernels& kernels, const MatmulTarget& t, const ActRows& act, int64_t rows,
               int64_t begin, int64_t end, std::byte* scratch) {
  const kernels::ActKind kind = kernels::act_kind(t.matrix->type);
  kernels.matmul(*t.matrix, begin, end, act.data[static_cast<size_t>(kind)],
                 kernels::act_row_bytes(kind, t.matrix->cols), rows, t.out, t.out_stride, scratch);
}

}  // namespace

void run_matmuls(Team& team, const kernels::MatmulKernels& kernels, std::span<const MatmulTarget> targets,
                 const ActRows& act, int64_t rows, std::byte* thread_scratch) {
  int64_t total = 0;
  for (const MatmulTarget& t : targets) total += t.matrix->groups();
  const int64_t grain = team.size() == 1 ? total : std::max<int64_t>(1, total / (team.size() * kItemsPerThread));
  team.parallel_for(total, grain, [&](int64_t begin, int64_t end) {
    int64_t base = 0;
    for (const MatmulTarget& t : targets) {
      const int64_t first = std::max(begin, base), last = std::min(end, base + t.matrix->groups());
      if (first < last) run_range(kernels, t, act, rows, first - base, last - base, thread_scratch);
      base += t.matrix->groups();
    }
  });
}

}  // namespace toccata::model
