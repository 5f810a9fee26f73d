// What `toccata run` says on stderr about an answer.
#pragma once

#include <string>

#include "run_generate.h"

namespace toccata::cli {

// The p-th percentile (0..1) by nearest rank; 0 for an empty list.
double percentile(std::vector<double> values, double p);

// One line: why the answer ended early, if it did. Nothing for a normal end.
void note_finish(const Generation& g, const LoadedModel& model);

// Several lines: load, prompt, decode and what they ran on.
void print_summary(const LoadedModel& model, const Generation& g, uint64_t seed);

// One JSON object: the token, its text, its log-probability, and the most likely ones.
std::string logprob_line(const Tokenizer& tokenizer, const TokenOutput& sampled);

}  // namespace toccata::cli
