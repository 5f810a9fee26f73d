// The header of a GGUF file: which format, version and byte order it has.
#include "format/gguf/shard.h"

#include <bit>
#include <cstring>
#include <optional>

#include "format/gguf/limits.h"

static_assert(std::endian::native == std::endian::little,
              "numbers are read in place, so the host must be little-endian");

namespace toccata::gguf {
namespace {

struct Signature {
  std::string_view bytes;
  std::string_view meaning;
};

// Beginnings of files that users give by mistake.
constexpr Signature kOtherFormats[] = {
    {"FUGG", "a big-endian GGUF file; only little-endian files are supported"},
    {"lmgg", "a file in the old GGML format, which GGUF replaced; convert it to GGUF"},
    {"fmgg", "a file in the old GGMF format, which GGUF replaced; convert it to GGUF"},
    {"tjgg", "a file in the old GGJT format, which GGUF replaced; convert it to GGUF"},
    {"algg", "an adapter in the old GGLA format, which GGUF replaced; convert it to GGUF"},
    {"PK\x03\x04", "a zip archive (perhaps a PyTorch checkpoint), not a GGUF file"},
    {"version https://git-lfs", "a Git LFS pointer; the model itself was not fetched (git lfs pull)"},
    {"<!DOCTYPE", "a web page, not a GGUF file"},
    {"<html", "a web page, not a GGUF file"},
};

std::optional<Error> other_format(std::string_view head, const std::string& path) {
  if (head.starts_with("GGUF")) return std::nullopt;
  for (const Signature& s : kOtherFormats) {
    if (head.starts_with(s.bytes)) return Error{ErrorCode::kUnsupported, path + ": this is " + std::string(s.meaning)};
  }
  // safetensors: the length of a JSON header, then the header.
  if (head.size() > 9 && head[8] == '{' && head.substr(4, 4) == std::string_view("\0\0\0\0", 4)) {
    return Error{ErrorCode::kUnsupported, path + ": this is a safetensors file, not a GGUF file"};
  }
  return Error{ErrorCode::kInvalidFile,
               path + ": not a GGUF file: it begins with '" + printable(head.substr(0, 4)) + "', not with 'GGUF'"};
}

Status check_version(uint32_t version, const std::string& path) {
  if (version == 2 || version == 3) return {};
  // A version fits the low half; if only the high half is set, the bytes are in the other order.
  if ((version & 0xffff) == 0 && version != 0) {
    return fail(ErrorCode::kUnsupported, path + ": the header is big-endian; only little-endian files are supported");
  }
  return fail(ErrorCode::kUnsupported,
              path + ": GGUF version " + std::to_string(version) + " is not supported; versions 2 and 3 are");
}

Status check_count(uint64_t count, uint64_t limit, uint64_t record_bytes, size_t remaining, const char* what,
                   const std::string& path) {
  if (count > remaining / record_bytes) {
    return fail(ErrorCode::kInvalidFile, path + ": the header claims " + std::to_string(count) + " " + what +
                                             ", which the remaining " + std::to_string(remaining) +
                                             " bytes of the file cannot hold");
  }
  if (count > limit) {
    return fail(ErrorCode::kUnsupported, path + ": the header claims " + std::to_string(count) + " " + what +
                                             "; at most " + std::to_string(limit) + " are supported");
  }
  return {};
}

}  // namespace

Result<Shard> parse_shard(std::span<const std::byte> bytes, const std::string& path) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (auto error = other_format(text.substr(0, 32), path)) return tl::unexpected<Error>(*error);
  Cursor in(bytes);
  Shard shard;
  uint64_t tensors = 0, keys = 0;
  in.take(4);
  if (!in.read(shard.version)) return fail(ErrorCode::kInvalidFile, path + ": the file ends inside the header");
  if (auto ok = check_version(shard.version, path); !ok) return tl::unexpected<Error>(ok.error());
  if (!in.read(tensors) || !in.read(keys)) {
    return fail(ErrorCode::kInvalidFile, path + ": the file ends inside the header");
  }
  const size_t left = in.remaining();
  Status ok = check_count(keys, limits::kKeys, limits::kKeyRecordBytes, left, "metadata keys", path);
  if (ok) ok = check_count(tensors, limits::kTensors, limits::kTensorRecordBytes, left, "tensors", path);
  if (ok) ok = parse_metadata(in, keys, path, shard);
  if (ok) ok = parse_tensors(in, tensors, bytes, path, shard);
  if (!ok) return tl::unexpected<Error>(ok.error());
  return shard;
}

}  // namespace toccata::gguf
