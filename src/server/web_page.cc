// The web page: files of src/server/web, embedded. Browsers are told to take nothing from anywhere else.
#include <algorithm>

#include "server/embedded.h"
#include "server/service.h"

namespace toccata::server {
namespace {

const embedded::WebFile* find_file(std::string_view path) {
  const std::string_view name = path == "/" ? "index.html" : path.substr(std::string_view("/web/").size());
  const auto at = std::find_if(embedded::web_files.begin(), embedded::web_files.end(),
                               [&](const embedded::WebFile& file) { return file.name == name; });
  return at == embedded::web_files.end() ? nullptr : &*at;
}

const char* content_type(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  return "text/javascript; charset=utf-8";
}

// If-None-Match is "*" or a list of tags; a proxy that compresses may have made ours weak (W/"...").
bool unchanged(std::string_view if_none_match, std::string_view etag) {
  return if_none_match == "*" || if_none_match.find(etag) != std::string_view::npos;
}

}  // namespace

void Service::page(const std::shared_ptr<Exchange>& e) {
  const std::string& path = e->request().path;
  const embedded::WebFile* file = find_file(path);
  if (file == nullptr) return e->respond(fault(404, "there is no " + path.substr(0, 200)));
  HttpResponse response;
  response.headers = {{"ETag", std::string(file->etag)},
                      {"Cache-Control", "no-cache"},
                      {"Content-Security-Policy",
                       "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
                       "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"}};
  if (unchanged(e->request().header("if-none-match"), file->etag)) {
    response.status = 304;
    response.content_type.clear();
  } else {
    response.content_type = content_type(file->name);
    response.body = *file->bytes;
  }
  e->respond(std::move(response));
}

}  // namespace toccata::server
