// Versioned structs of the C API: a program may have been compiled with a header of fewer fields.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace toccata::capi {

// A size that this or an earlier version of the struct may have.
template <class T>
bool plausible(const T& s) {
  return s.struct_size > sizeof(size_t) && s.struct_size <= sizeof(T);
}

// As many fields as the caller has room for. A later version's program gets its size back, and is refused by it.
template <class T>
void init_struct(T from, T* to, size_t struct_size) {
  from.struct_size = struct_size;
  std::memcpy(to, &from, std::min(struct_size, sizeof(T)));
}

// What the caller has of the struct, the rest as `defaults` has it. False: no such struct.
template <class T>
bool read_struct(const T* from, const T& defaults, T& to) {
  to = defaults;
  if (from == nullptr || !plausible(*from)) return false;
  std::memcpy(&to, from, from->struct_size);
  return true;
}

}  // namespace toccata::capi
