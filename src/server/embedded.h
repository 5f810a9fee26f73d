// Files of the sources that are part of the program; toccata_embed in CMakeLists.txt makes them.
#pragma once

#include <span>
#include <string_view>

namespace toccata::embedded {

extern const std::string_view openapi_json;

// The web page's files; WEB_FILES in CMakeLists.txt lists them.
struct WebFile {
  std::string_view name;  // "chat.js"
  std::string_view etag;  // with its quotes
  const std::string_view* bytes;
};
extern const std::span<const WebFile> web_files;

}  // namespace toccata::embedded
