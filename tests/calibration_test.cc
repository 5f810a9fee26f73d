// The steps that are timed before the first request.
#include "engine/calibrate.h"

#include <gtest/gtest.h>

#include <set>

#include "support/engine_rig.h"

namespace toccata {
namespace {

struct Timed {
  std::vector<sched::StepShape> shapes;
  std::vector<std::vector<int64_t>> contexts;  // per forward: the spans' first positions
};

// Checks each step as the model sees it, and that the pool is as before.
Timed calibrate(int64_t blocks, int64_t context, int64_t sequences, double seconds, int fail_at = -1) {
  test::FakeRunner runner(600, 96);
  kv::Pool pool = *kv::Pool::create(runner.kv_layout(), blocks);
  Timed timed;
  runner.before_forward = [&](const model::Step& step) -> Status {
    if (std::ssize(timed.contexts) == fail_at) return fail(ErrorCode::kInternal, "a fault");
    std::set<kv::BlockId> written;
    timed.contexts.emplace_back();
    for (const model::SpanInput& s : step.spans) {
      timed.contexts.back().push_back(s.first_pos);
      const int64_t end = s.first_pos + std::ssize(s.tokens);
      EXPECT_LE(end, context);
      EXPECT_EQ(s.first_pos % kernels::kKvBlock, 0);
      for (int64_t b = 0; b * kernels::kKvBlock < end; ++b) {
        EXPECT_EQ(pool.references(s.blocks[b]), 1);
        if (b * kernels::kKvBlock >= s.first_pos) {
          EXPECT_TRUE(written.insert(s.blocks[b]).second) << "two spans write to one block";
        }
      }
    }
    return {};
  };
  std::vector<float> logits(96 * runner.logit_stride());
  engine::calibrate(runner, pool, logits.data(), {context, sequences, seconds},
                    [&](const sched::StepShape& shape, double time) {
                      EXPECT_GT(time, 0);
                      EXPECT_LE(shape.decodes, sequences);
                      timed.shapes.push_back(shape);
                    });
  EXPECT_EQ(pool.free_blocks(), blocks);
  return timed;
}

TEST(Calibration, TimesPromptsDecodesAndLongContexts) {
  const Timed t = calibrate(200, 4096, 16, 100);
  bool prompt = false, decode = false, deep_prompt = false, deep_decode = false;
  for (const sched::StepShape& s : t.shapes) {
    prompt |= s.prefill_tokens > 0 && s.decodes == 0;
    decode |= s.prefill_tokens == 0 && s.decodes == 8;
    deep_prompt |= s.prefill_keys > 1000.0 * static_cast<double>(s.prefill_tokens);
    deep_decode |= s.prefill_tokens == 0 && s.decode_keys > 8 * 1000.0;
  }
  EXPECT_TRUE(prompt && decode && deep_prompt && deep_decode);
  EXPECT_EQ(t.contexts.size(), t.shapes.size() + 1) << "the first step is not reported";
}

TEST(Calibration, MakesDoWithLittle) {
  EXPECT_FALSE(calibrate(12, 300, 8, 100).shapes.empty());
  EXPECT_FALSE(calibrate(200, 64, 1, 100).shapes.empty());
  EXPECT_TRUE(calibrate(9, 300, 8, 100).shapes.empty());   // too few blocks
  EXPECT_TRUE(calibrate(200, 40, 8, 100).shapes.empty());  // no room for its prompt
  EXPECT_TRUE(calibrate(200, 4096, 8, 0).shapes.empty());  // no time
  EXPECT_TRUE(calibrate(200, 4096, 8, 100, 0).shapes.empty());
  EXPECT_EQ(calibrate(200, 4096, 8, 100, 3).shapes.size(), 2u);  // a model that fails
}

TEST(Calibration, TheFirstStepIsPredicted) {
  test::Rig rig(200, {});
  rig.core->calibrate();
  EXPECT_EQ(rig.core->check_invariants(), "");
  Request r;
  r.prompt.assign(300, 3);
  r.max_tokens = 3;
  rig.core->add(1, r, std::make_shared<test::Answer>(), 0);
  rig.core->step();
  EngineStats stats;
  rig.core->fill(stats);
  EXPECT_GT(stats.last_step_predicted_seconds, 0);
  rig.finish_all();
}

}  // namespace
}  // namespace toccata
