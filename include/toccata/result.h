// Result<T>: a value or one clear sentence that says what is wrong.
//
// Used for everything that depends on the outside (files, requests, flags, memory). Faults of our own
// code abort through TOCCATA_CHECK instead. No exception crosses a module boundary.
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace toccata {

enum class ErrorCode {
  kInvalidArgument,    // a flag or a request that cannot be honoured
  kInvalidFile,        // a file that is damaged or not what it claims to be
  kUnsupported,        // well-formed, but a feature that toccata does not have
  kNotFound,           // no such file, tensor or key
  kResourceExhausted,  // memory, cache blocks or queue places ran out
  kUnavailable,        // not now: loading or draining
  kInternal,           // the outside failed in a way that has no better name
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  // one sentence, no trailing newline, names the file, tensor, key or flag
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = tl::expected<void, Error>;

inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

}  // namespace toccata
