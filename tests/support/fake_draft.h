// A draft model for tests: the fake target itself, or one of other habits.
#pragma once

#include <memory>
#include <utility>

#include "engine/model_drafter.h"
#include "support/fake_model.h"

namespace toccata::test {

// With `blocks` of KV memory and small steps.
inline std::unique_ptr<engine::ModelDrafter> fake_draft(float habit, int64_t blocks, int64_t requests,
                                                        FakeRunner** runner_out = nullptr) {
  auto runner = std::make_shared<FakeRunner>(20 + requests, requests);
  runner->habit = habit;
  if (runner_out) *runner_out = runner.get();
  engine::DraftModel model;
  model.pool = std::make_shared<kv::Pool>(*kv::Pool::create(runner->kv_layout(), blocks));
  model.vocab = runner->config().vocab;
  model.runner = std::move(runner);
  return std::move(*engine::ModelDrafter::create(std::move(model)));
}

}  // namespace toccata::test
