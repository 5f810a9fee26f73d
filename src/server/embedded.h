// Files of the sources that are part of the program; toccata_embed in CMakeLists.txt makes them.
#pragma once

#include <string_view>

namespace toccata::embedded {

extern const std::string_view openapi_json;

}  // namespace toccata::embedded
