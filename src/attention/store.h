// Writing the K and V rows of spans into the cache.
#pragma once

#include "attention/attention.h"

namespace toccata::attention {

// Called by every thread of the team; on return all rows are in the cache and visible to all.
void store_step(Team& team, const Args& args, std::span<const Span> spans, const kernels::AttnKernels& kernels);

}  // namespace toccata::attention
