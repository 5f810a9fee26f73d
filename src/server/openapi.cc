// The OpenAPI description of the API (3.1), openapi.json in the sources, as it is served at /openapi.json.
#include <boost/json.hpp>
#include <string>

#include "server/embedded.h"
#include "server/service.h"

namespace toccata::server {

std::string openapi_document(const std::string& version, bool needs_key) {
  boost::json::object document = boost::json::parse(embedded::openapi_json).as_object();
  document["info"].as_object()["version"] = version;
  if (!needs_key) {  // without keys the server needs no security scheme
    for (auto& path : document["paths"].as_object()) {
      for (auto& operation : path.value().as_object()) operation.value().as_object()["security"] = boost::json::array();
    }
  }
  return boost::json::serialize(document);
}

}  // namespace toccata::server
