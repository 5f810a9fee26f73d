// The ids, texts and bytes of independent implementations, on real models (tests/reference).
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "text/tokenizer/tokenizer.h"

namespace toccata {
namespace {

namespace json = boost::json;

std::string model_folder() {
  if (const char* folder = std::getenv("TOCCATA_MODELS")) return folder;
  const char* home = std::getenv("HOME");
  return std::string(home != nullptr ? home : "") + "/.cache/toccata/models";
}

json::value read_reference(const std::string& name) {
  std::ifstream file(TOCCATA_SOURCE_DIR "/tests/reference/" + name, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return json::parse(text.str());
}

std::vector<TokenId> ids_of(const json::value& array) {
  std::vector<TokenId> out;
  for (const json::value& v : array.as_array()) out.push_back(static_cast<TokenId>(v.as_int64()));
  return out;
}

std::string to_hex(std::string_view bytes) {
  std::string out;
  for (char c : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    out += kDigits[static_cast<unsigned char>(c) >> 4];
    out += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

class ReferenceModels : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const json::value reference = read_reference("tok." + GetParam() + ".json");
    const std::string path = model_folder() + "/" + std::string(reference.at("file").as_string());
    if (!std::ifstream(path) && std::getenv("TOCCATA_REQUIRE_MODELS") == nullptr) {
      GTEST_SKIP() << path << " is missing (set TOCCATA_MODELS to the folder of the models)";
    }
    const auto file = gguf::File::open(path);
    ASSERT_TRUE(file) << file.error().message;
    auto tokenizer = Tokenizer::from_gguf(**file);
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    tokenizer_ = std::move(*tokenizer);
  }
  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_P(ReferenceModels, EncodesAndDecodes) {
  const json::value reference = read_reference("tok." + GetParam() + ".json");
  for (const json::value& c : reference.at("cases").as_array()) {
    const json::object& o = c.as_object();
    SCOPED_TRACE(std::string(o.at("id").as_string()));
    const std::string text(o.at("text").as_string());
    const auto field = [&](const char* name, const json::value& absent) {
      return o.contains(name) ? o.at(name) : absent;
    };
    const std::vector<TokenId> ids = ids_of(o.at("ids"));
    EXPECT_EQ(tokenizer_->encode(text, {.parse_special = true}), ids);
    EXPECT_EQ(tokenizer_->encode(text, {.parse_special = false}), ids_of(field("ids_no_special", o.at("ids"))));
    const json::value decoded = field("decoded", o.at("text"));
    EXPECT_EQ(tokenizer_->decode(ids), std::string(decoded.as_string()));
    EXPECT_EQ(tokenizer_->decode(ids, true), std::string(field("decoded_skip_special", decoded).as_string()));
    StreamDecoder stream(*tokenizer_, false);
    std::string streamed;
    for (TokenId id : ids) streamed += stream.push(id);
    EXPECT_EQ(streamed + stream.flush(), std::string(decoded.as_string()));
  }
}

TEST_P(ReferenceModels, KnowsTheBytesOfItsTokens) {
  const json::value reference = read_reference("piece." + GetParam() + ".json");
  for (const json::value& c : reference.at("cases").as_array()) {
    const json::object& o = c.as_object();
    SCOPED_TRACE(std::string(o.at("id").as_string()));
    const TokenId id = static_cast<TokenId>(o.at("token").as_int64());
    EXPECT_EQ(to_hex(tokenizer_->token_bytes(id)), std::string(o.at("hex").as_string()));
    EXPECT_EQ(tokenizer_->token_type(id) == TokenType::kControl, o.at("special").as_bool());
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ReferenceModels,
                         ::testing::Values("smollm2-135m", "qwen2.5-coder-0.5b", "gemma3-270m"), [](const auto& param) {
                           std::string name = param.param;
                           for (char& c : name) c = c == '-' || c == '.' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace toccata
