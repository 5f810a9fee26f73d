// `toccata bench serve`: load on any server with OpenAI's API.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "http_client.h"

namespace toccata::cli {

struct LoadOptions {
  std::string url = "http://127.0.0.1:8080", model, key;
  int64_t concurrency = 8;  // closed loop: requests at once
  float rate = 0;           // open loop, requests per second (Poisson); 0: closed
  int64_t requests = 32;
  int64_t prompt = 64, prompt_spread = 0;  // words, uniform in prompt +- spread; a word is about a token
  int64_t output = 64, output_spread = 0;  // tokens
  int64_t prefix = 0;                      // words that all prompts begin with
  int64_t long_prompt = 0;                 // words of one more prompt that arrives later; 0: none
  float long_after = 2;                    // seconds from the start
  float slo_ttft = 0, slo_itl = 0;         // milliseconds that a good request keeps; 0: any
  int64_t seed = 1;
  bool json = false;
};

struct Sample {
  double begin = 0, end = 0;
  std::vector<double> arrivals;  // of the events with text
  int64_t prompt_tokens = 0, output_tokens = 0, cached_tokens = 0;
  bool is_long = false;
  std::string error;  // empty: it went well
};

// The lines of the report, or one JSON object.
std::string load_report(const LoadOptions& options, const std::vector<Sample>& samples, double wall);

int bench_serve_main(int argc, char** argv);

}  // namespace toccata::cli
