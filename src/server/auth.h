// API keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "toccata/result.h"

namespace toccata::server {

// One key a line; blank lines and those that begin with # are skipped. Error: names the file.
Result<std::vector<std::string>> read_key_file(const std::string& path);

class ApiKeys {
 public:
  explicit ApiKeys(std::vector<std::string> keys) : keys_(std::move(keys)) {}
  bool needed() const { return !keys_.empty(); }
  // The value of an Authorization header. The time depends on the number and lengths of the keys and on what was
  // sent, not on how much of it is right.
  bool accepts(std::string_view authorization) const;

 private:
  std::vector<std::string> keys_;
};

}  // namespace toccata::server
