#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "base/cpu_features.h"
#include "tensor/dequantize.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace toccata {
namespace {

uint32_t bits(float f) { return std::bit_cast<uint32_t>(f); }
float from_bits(uint32_t b) { return std::bit_cast<float>(b); }

// The value of a half by its definition, in double precision.
double half_value(uint16_t h) {
  const int exponent = (h >> 10) & 31;
  const double fraction = (h & 0x3ff) / 1024.0;
  const double magnitude = exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1 + fraction, exponent - 15);
  return h & 0x8000 ? -magnitude : magnitude;
}

// All inputs at which a rounding decision changes: each half, the midpoint to the next one, and the floats beside both.
template <class Visit>
void for_each_edge(Visit visit) {
  for (uint32_t h = 0; h < 0x7c00; ++h) {
    const auto low = static_cast<float>(half_value(static_cast<uint16_t>(h)));
    const double next = h == 0x7bff ? 65536.0 : half_value(static_cast<uint16_t>(h + 1));
    const auto middle = static_cast<float>((half_value(static_cast<uint16_t>(h)) + next) / 2);
    for (const float center : {low, middle}) {
      for (const float x : {std::nextafter(center, -INFINITY), center, std::nextafter(center, INFINITY)}) {
        visit(x);
        visit(-x);
      }
    }
  }
}

TEST(Half, EveryFiniteHalfHasItsExactValue) {
  for (uint32_t h = 0; h <= 0xffff; ++h) {
    const auto half = static_cast<uint16_t>(h);
    if ((half & 0x7c00) == 0x7c00) continue;
    ASSERT_EQ(bits(f16_to_f32(half)), bits(static_cast<float>(half_value(half)))) << h;
    ASSERT_EQ(f32_to_f16(f16_to_f32(half)), half);
  }
}

TEST(Half, InfinitiesAndNaNs) {
  EXPECT_EQ(bits(f16_to_f32(0x7c00)), bits(INFINITY));
  EXPECT_EQ(bits(f16_to_f32(0xfc00)), bits(-INFINITY));
  EXPECT_EQ(bits(f16_to_f32(0x7c01)), 0x7fc02000u);  // a signalling NaN becomes quiet and keeps its payload
  EXPECT_EQ(bits(f16_to_f32(0xfe00)), 0xffc00000u);
  EXPECT_EQ(f32_to_f16(from_bits(0x7f800001)), 0x7e00);
  EXPECT_EQ(f32_to_f16(from_bits(0xffffffff)), 0xffff);
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(f32_to_f16(65519.996f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16(0x1p-25f), 0x0000);  // half of the smallest subnormal: to even
  EXPECT_EQ(f32_to_f16(std::nextafter(0x1p-25f, 1.0f)), 0x0001);
  EXPECT_EQ(f32_to_f16(0x1.8p-24f), 0x0002);
  EXPECT_EQ(f32_to_f16(0x1.ffcp-15f), 0x03ff + 1);  // a subnormal that rounds up to the smallest normal
  EXPECT_EQ(f32_to_f16(-0.0f), 0x8000);
  // By definition: no representable neighbour is nearer, and a tie has an even code.
  for_each_edge([](float x) {
    const uint16_t h = f32_to_f16(x);
    if ((h & 0x7fff) >= 0x7bff) return;  // around infinity: above
    const double error = std::fabs(half_value(h) - x);
    for (const int other : {(h & 0x7fff) - 1, (h & 0x7fff) + 1}) {
      if (other < 0) continue;
      const auto code = static_cast<uint16_t>(other | (h & 0x8000));
      const double distance = std::fabs(half_value(code) - x);
      ASSERT_TRUE(error < distance || (error == distance && h % 2 == 0)) << x << ' ' << h;
    }
  });
}

#if defined(__x86_64__)
__attribute__((target("f16c"))) uint32_t hardware_to_f32(uint16_t h) {
  return bits(_mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(h))));
}
__attribute__((target("f16c"))) uint16_t hardware_to_f16(float f) {
  return static_cast<uint16_t>(_mm_cvtsi128_si32(_mm_cvtps_ph(_mm_set_ss(f), _MM_FROUND_TO_NEAREST_INT)));
}

TEST(Half, EqualsTheProcessorsInstructions) {
  if (!cpu_features().avx2) GTEST_SKIP() << "this CPU has no F16C";
  for (uint32_t h = 0; h <= 0xffff; ++h) {
    const auto half = static_cast<uint16_t>(h);
    ASSERT_EQ(bits(f16_to_f32(half)), hardware_to_f32(half)) << h;
  }
  for_each_edge([](float x) { ASSERT_EQ(f32_to_f16(x), hardware_to_f16(x)) << x; });
  std::mt19937 rng(7);
  for (int i = 0; i < 2'000'000; ++i) {
    const float x = from_bits(static_cast<uint32_t>(rng()));
    ASSERT_EQ(f32_to_f16(x), hardware_to_f16(x)) << bits(x);
  }
}
#endif

TEST(Bfloat16, IsTheUpperHalfOfAFloat) {
  for (uint32_t h = 0; h <= 0xffff; ++h) {
    const auto half = static_cast<uint16_t>(h);
    ASSERT_EQ(bits(bf16_to_f32(half)), h << 16);
    const bool nan = (half & 0x7fff) > 0x7f80;
    ASSERT_EQ(f32_to_bf16(bf16_to_f32(half)), nan ? half | 0x40 : half) << h;
  }
}

TEST(Bfloat16, RoundsToNearestEven) {
  EXPECT_EQ(f32_to_bf16(from_bits(0x3f808000)), 0x3f80);  // tie, even below
  EXPECT_EQ(f32_to_bf16(from_bits(0x3f818000)), 0x3f82);  // tie, even above
  EXPECT_EQ(f32_to_bf16(from_bits(0x3f808001)), 0x3f81);
  EXPECT_EQ(f32_to_bf16(from_bits(0x3f807fff)), 0x3f80);
  EXPECT_EQ(f32_to_bf16(from_bits(0x7f7fffff)), 0x7f80);  // the largest float rounds to infinity
  EXPECT_EQ(f32_to_bf16(from_bits(0x00008001)), 0x0001);
  EXPECT_EQ(f32_to_bf16(from_bits(0x7f800001)), 0x7fc0);  // a NaN never becomes an infinity
  EXPECT_EQ(f32_to_bf16(from_bits(0xffffffff)), 0xffff);
}

}  // namespace
}  // namespace toccata
