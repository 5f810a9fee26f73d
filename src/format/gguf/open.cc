// Opening a model: one file, or all parts of a split one.
#include <cstdio>
#include <filesystem>

#include "format/gguf/shard.h"

namespace toccata::gguf {
namespace {

// "PREFIX-00002-of-00003.gguf" of part 2 of 3 (numbers from 1).
std::string part_path(const std::string& prefix, int64_t part, int64_t count) {
  char suffix[64];
  std::snprintf(suffix, sizeof(suffix), "-%05lld-of-%05lld.gguf", static_cast<long long>(part),
                static_cast<long long>(count));
  return prefix + suffix;
}

struct Split {
  int64_t index = 0;  // of this part, from 0
  int64_t count = 1;
  int64_t tensors = -1;  // of the whole model; -1: not given
};

constexpr int64_t kMaxParts = 99999;  // five digits in the name

Result<int64_t> split_key(const Shard& shard, std::string_view key, int64_t absent, int64_t low, int64_t high,
                          const std::string& path) {
  const auto it = shard.metadata_index.find(key);
  if (it == shard.metadata_index.end()) return absent;
  const Value& value = shard.metadata[it->second].second;
  const std::string prefix = path + ": metadata key '" + std::string(key) + "': ";
  int64_t number = -1;
  if (const auto* u = std::get_if<uint64_t>(&value.data)) {
    number = *u <= static_cast<uint64_t>(high) ? static_cast<int64_t>(*u) : high + 1;
  } else if (const auto* i = std::get_if<int64_t>(&value.data)) {
    number = *i;
  } else {
    return fail(ErrorCode::kInvalidFile,
                prefix + "its type is " + std::string(value_type_name(value.type)) + ", not an integer");
  }
  if (number < low || number > high) {
    return fail(ErrorCode::kInvalidFile,
                prefix + "the value is outside " + std::to_string(low) + " to " + std::to_string(high));
  }
  return number;
}

Result<Split> read_split(const Shard& shard, const std::string& path) {
  const auto count = split_key(shard, "split.count", 1, 0, kMaxParts, path);
  if (!count) return tl::unexpected<Error>(count.error());
  Split split;
  split.count = std::max<int64_t>(*count, 1);  // some writers give 0 to a model in one file
  const auto index = split_key(shard, "split.no", 0, 0, split.count - 1, path);
  if (!index) return tl::unexpected<Error>(index.error());
  const auto tensors = split_key(shard, "split.tensors.count", -1, 0, int64_t{1} << 40, path);
  if (!tensors) return tl::unexpected<Error>(tensors.error());
  split.index = *index;
  split.tensors = *tensors;
  return split;
}

}  // namespace

class Parser {
 public:
  static Result<std::shared_ptr<const File>> open(const std::string& path);

 private:
  // Parses a mapped file; its tensors get the shard number `number`.
  static Result<Shard> parse(const MappedFile& mapped, int64_t number);
  Status open_all(std::unique_ptr<MappedFile> given, Shard shard);
  Status open_parts(const std::string& given_path, const Split& split);
  Status open_part(const std::string& path, int64_t number, const Split& of);
  Status add(std::unique_ptr<MappedFile> mapped, Shard shard);

  std::shared_ptr<File> file_ = std::make_shared<File>();
};

Result<Shard> Parser::parse(const MappedFile& mapped, int64_t number) {
  auto shard = parse_shard({mapped.data(), mapped.size()}, mapped.path());
  if (!shard) return shard;
  for (Tensor& tensor : shard->tensors) tensor.shard = static_cast<int>(number);
  return shard;
}

Status Parser::add(std::unique_ptr<MappedFile> mapped, Shard shard) {
  if (file_->shards_.empty()) {
    file_->version_ = shard.version;
    file_->metadata_ = std::move(shard.metadata);
    file_->metadata_index_ = std::move(shard.metadata_index);
  }
  for (Tensor& tensor : shard.tensors) {
    if (!file_->tensor_index_.emplace(tensor.name, file_->tensors_.size()).second) {
      return fail(ErrorCode::kInvalidFile,
                  mapped->path() + ": tensor '" + printable(tensor.name) + "' occurs twice in the model");
    }
    file_->tensors_.push_back(std::move(tensor));
  }
  file_->shards_.push_back(std::move(mapped));
  return {};
}

Status Parser::open_part(const std::string& path, int64_t number, const Split& of) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) {
    return fail(ErrorCode::kNotFound, "part " + std::to_string(number + 1) + " of " + std::to_string(of.count) +
                                          " of the model is missing: '" + path + "'");
  }
  auto mapped = MappedFile::open(path);
  if (!mapped) return tl::unexpected<Error>(mapped.error());
  auto shard = parse(**mapped, number);
  if (!shard) return tl::unexpected<Error>(shard.error());
  const auto split = read_split(*shard, path);
  if (!split) return tl::unexpected<Error>(split.error());
  if (split->index != number || split->count != of.count) {
    return fail(ErrorCode::kInvalidFile, path + ": its metadata (split.no, split.count) calls it part " +
                                             std::to_string(split->index + 1) + " of " + std::to_string(split->count) +
                                             ", but its name part " + std::to_string(number + 1) + " of " +
                                             std::to_string(of.count));
  }
  return add(std::move(*mapped), std::move(*shard));
}

// `given` is the part that the caller named; the others lie beside it.
Status Parser::open_all(std::unique_ptr<MappedFile> given, Shard shard) {
  const std::string path = given->path();
  const auto split = read_split(shard, path);
  if (!split) return tl::unexpected<Error>(split.error());
  if (split->count == 1) {
    if (auto ok = add(std::move(given), std::move(shard)); !ok) return ok;
  } else if (auto ok = open_parts(path, *split); !ok) {
    return ok;
  }
  const size_t found = file_->tensors_.size();
  if (split->tensors >= 0 && static_cast<size_t>(split->tensors) != found) {
    return fail(ErrorCode::kInvalidFile, path + ": metadata key 'split.tensors.count' says " +
                                             std::to_string(split->tensors) + " tensors, but the model holds " +
                                             std::to_string(found));
  }
  return {};
}

// The given part is opened once more with the others: a mapping is cheap, and so all parts take one way.
Status Parser::open_parts(const std::string& given_path, const Split& split) {
  const std::string suffix = part_path("", split.index + 1, split.count);
  if (!given_path.ends_with(suffix)) {
    return fail(ErrorCode::kInvalidFile, given_path + ": this is part " + std::to_string(split.index + 1) + " of " +
                                             std::to_string(split.count) +
                                             " of a split model, but its name does not end in '" + suffix +
                                             "', so the other parts cannot be found");
  }
  const std::string prefix = given_path.substr(0, given_path.size() - suffix.size());
  for (int64_t part = 0; part < split.count; ++part) {
    if (auto ok = open_part(part_path(prefix, part + 1, split.count), part, split); !ok) return ok;
  }
  return {};
}

Result<std::shared_ptr<const File>> Parser::open(const std::string& path) {
  auto mapped = MappedFile::open(path);
  if (!mapped) return tl::unexpected<Error>(mapped.error());
  auto shard = parse(**mapped, 0);
  if (!shard) return tl::unexpected<Error>(shard.error());
  Parser parser;
  if (auto ok = parser.open_all(std::move(*mapped), std::move(*shard)); !ok) return tl::unexpected<Error>(ok.error());
  return std::shared_ptr<const File>(std::move(parser.file_));
}

Result<std::shared_ptr<const File>> File::open(const std::string& path) { return Parser::open(path); }

}  // namespace toccata::gguf
