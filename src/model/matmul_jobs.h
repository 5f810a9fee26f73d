// Several matrix products that share their activations, run by a team as one phase (fused QKV, gate and up).
#pragma once

#include <span>

#include "base/thread_pool.h"
#include "kernels/matmul.h"

namespace toccata::model {

struct MatmulTarget {
  const kernels::PackedMatrix* matrix = nullptr;
  float* out = nullptr;   // padded_rows() floats per activation row
  size_t out_stride = 0;  // floats
};

// The activation rows in each form that a target may need (act_row_bytes(kind, cols) apart).
struct ActRows {
  const std::byte* data[kernels::kActKinds] = {};
};

// Hands out groups of output rows dynamically over all targets; ends with a barrier.
void run_matmuls(Team& team, const kernels::MatmulKernels& kernels, std::span<const MatmulTarget> targets,
                 const ActRows& act, int64_t rows, std::byte* thread_scratch);

}  // namespace toccata::model
