// `toccata simulate`: one function per simulation, argv[0] being its name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "options.h"
#include "sim/scheduling.h"
#include "toccata/result.h"

namespace toccata::cli {

int simulate_speculative_main(int argc, char** argv);
int simulate_scheduling_main(int argc, char** argv);
int simulate_kv_main(int argc, char** argv);

// Two real models, the second drafting for the first.
struct RealOptions {
  ModelOptions model;
  std::string draft, prompt;
  SamplingOptions sampling;  // its seed: at least 0
  int64_t drafted = 5;       // tokens per round
  int64_t tokens = 24;       // of the answer, at most
};
Status simulate_real(const RealOptions& options);

// What steps of this model cost here, with up to `decodes` decodes; takes some seconds.
Result<sim::StepCost> measure_costs(const ModelOptions& options, int64_t decodes);

// "0.9,0.5": comma-separated numbers from low to high. Error: kInvalidArgument, says what it must be.
Result<std::vector<double>> numbers_within(std::string_view text, double low, double high);

}  // namespace toccata::cli
