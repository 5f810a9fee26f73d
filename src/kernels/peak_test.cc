#include "kernels/peak.h"

#include <gtest/gtest.h>

#include "base/aligned_buffer.h"
#include "kernels/dispatch.h"

namespace toccata::kernels {
namespace {

// Every byte counts: changing any one changes the result.
TEST(Peak, ReadDependsOnEveryByte) {
  Result<AlignedBuffer> buffer = AlignedBuffer::allocate(2 * kPeakReadStep);
  ASSERT_TRUE(buffer);
  for (const KernelSet& set : available_kernels()) {
    const PeakKernels& peak = peak_kernels(set.isa);
    const uint64_t before = peak.read(buffer->data(), buffer->size());
    for (size_t i = 0; i < buffer->size(); ++i) {
      buffer->data()[i] = std::byte{1};
      EXPECT_NE(peak.read(buffer->data(), buffer->size()), before) << set.isa << " byte " << i;
      buffer->data()[i] = std::byte{0};
    }
  }
}

// The fixed point of x / 2 + 1 is 2, and more rounds of 8-bit products give other sums: the work is really done.
TEST(Peak, RoundsAreDone) {
  for (const KernelSet& set : available_kernels()) {
    const PeakKernels& peak = peak_kernels(set.isa);
    const float settled = peak.f32_rounds(100);
    EXPECT_GE(settled, 16.0f) << set.isa;  // 2 of each chain
    EXPECT_EQ(peak.f32_rounds(200), settled) << set.isa;
    EXPECT_NE(peak.f32_rounds(1), settled) << set.isa;
    EXPECT_NE(peak.int8_rounds(1), peak.int8_rounds(2)) << set.isa;
    EXPECT_GT(peak.int8_ops, 0);
    EXPECT_GT(peak.f32_ops, 0);
  }
}

TEST(Peak, EachSetHasItsOwn) {
  for (const KernelSet& a : available_kernels()) {
    for (const KernelSet& b : available_kernels()) {
      EXPECT_EQ(&peak_kernels(a.isa) == &peak_kernels(b.isa), a.isa == b.isa);
    }
  }
  EXPECT_EQ(&peak_kernels("no such set"), &peak_kernels("generic"));
}

}  // namespace
}  // namespace toccata::kernels
