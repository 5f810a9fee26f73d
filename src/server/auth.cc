#include "server/auth.h"

#include <cerrno>
#include <cstring>
#include <fstream>

namespace toccata::server {
namespace {

bool same(std::string_view sent, const std::string& key) {
  volatile unsigned difference = sent.size() == key.size() ? 0 : 1;
  for (size_t i = 0; i < sent.size(); ++i) {
    difference = difference | static_cast<unsigned char>(sent[i] ^ key[i % key.size()]);
  }
  return difference == 0;
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.back() == ' ' || s.back() == '\r' || s.back() == '\t')) s.remove_suffix(1);
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  return s;
}

}  // namespace

Result<std::vector<std::string>> read_key_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return fail(ErrorCode::kNotFound, "cannot read the API keys in '" + path + "': " + std::strerror(errno));
  std::vector<std::string> keys;
  for (std::string line; std::getline(file, line);) {
    const std::string_view key = trimmed(line);
    if (!key.empty() && key.front() != '#') keys.emplace_back(key);
  }
  if (file.bad() || keys.empty()) return fail(ErrorCode::kInvalidFile, "there is no API key in '" + path + "'");
  return keys;
}

bool ApiKeys::accepts(std::string_view authorization) const {
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() < kScheme.size()) return false;
  for (size_t i = 0; i < kScheme.size(); ++i) {  // schemes are case-insensitive; kScheme has letters and a space
    if ((authorization[i] | 0x20) != kScheme[i]) return false;
  }
  const std::string_view sent = trimmed(authorization.substr(kScheme.size()));
  bool accepted = false;
  for (const std::string& key : keys_) accepted = same(sent, key) | accepted;
  return accepted;
}

}  // namespace toccata::server
