#include "model/config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <variant>

#include "format/gguf/test_writer.h"

namespace toccata::model {
namespace {

using gguf::ValueType;
using Setting = std::variant<uint32_t, float, std::string, bool, std::vector<int32_t>, std::vector<float>,
                             std::vector<bool>, std::vector<std::string>>;

// Metadata and an embedding of a small model; keys without a dot in front belong to the architecture.
class TestModel {
 public:
  explicit TestModel(std::string architecture) : architecture_(std::move(architecture)) {
    set(".general.architecture", architecture_).set(".general.name", "Test");
    set("block_count", 12u).set("context_length", 4096u).set("embedding_length", 128u);
    set("feed_forward_length", 256u).set("attention.head_count", 4u).set("attention.head_count_kv", 2u);
    set("attention.layer_norm_rms_epsilon", 1e-6f);
  }
  TestModel& set(const std::string& key, Setting value) {
    settings_[full(key)] = std::move(value);
    return *this;
  }
  TestModel& drop(const std::string& key) {
    settings_.erase(full(key));
    return *this;
  }
  TestModel& rows(int64_t rows) {
    rows_ = rows;
    return *this;
  }

  Result<ModelConfig> config() const {
    const gguf::TestFolder folder;
    gguf::Writer writer;
    for (const auto& [key, value] : settings_) write(writer, key, value);
    if (rows_ > 0) writer.tensor("token_embd.weight", DType::kF16, {128, rows_});
    const auto file = gguf::File::open(folder.write("m.gguf", writer.bytes()));
    EXPECT_TRUE(file) << file.error().message;
    return read_config(**file);
  }

  // The end of the message that refuses this model.
  std::string refusal(ErrorCode code) const {
    const auto c = config();
    if (c) return "accepted";
    EXPECT_EQ(static_cast<int>(c.error().code), static_cast<int>(code)) << c.error().message;
    const size_t file = c.error().message.find("m.gguf: ");
    return file == std::string::npos ? "the file is not named" : c.error().message.substr(file + 8);
  }

 private:
  std::string full(const std::string& key) const { return key[0] == '.' ? key.substr(1) : architecture_ + "." + key; }

  static void write(gguf::Writer& w, const std::string& key, const Setting& value) {
    if (const auto* u = std::get_if<uint32_t>(&value)) w.u32(key, *u);
    if (const auto* f = std::get_if<float>(&value)) w.f32(key, *f);
    if (const auto* s = std::get_if<std::string>(&value)) w.text(key, *s);
    if (const auto* b = std::get_if<bool>(&value)) w.boolean(key, *b);
    if (const auto* i = std::get_if<std::vector<int32_t>>(&value)) w.array(key, ValueType::kInt32, *i);
    if (const auto* f = std::get_if<std::vector<float>>(&value)) w.array(key, ValueType::kFloat32, *f);
    if (const auto* s = std::get_if<std::vector<std::string>>(&value)) w.strings(key, *s);
    if (const auto* b = std::get_if<std::vector<bool>>(&value)) {
      w.array(key, ValueType::kBool, std::vector<uint8_t>(b->begin(), b->end()));
    }
  }

  std::string architecture_;
  std::map<std::string, Setting> settings_;
  int64_t rows_ = 100;
};

constexpr auto kInvalid = ErrorCode::kInvalidFile, kUnsupported = ErrorCode::kUnsupported;

TEST(Config, Llama) {
  const auto c = TestModel("llama").config();
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->architecture, "llama");
  EXPECT_EQ(c->name, "Test");
  EXPECT_EQ(c->vocab, 100);
  EXPECT_EQ(c->context_length, 4096);
  EXPECT_EQ(c->layers, 12);
  EXPECT_EQ(c->dim, 128);
  EXPECT_EQ(c->ff_dim, 256);
  EXPECT_EQ(c->heads, 4);
  EXPECT_EQ(c->kv_heads, 2);
  EXPECT_EQ(c->head_dim, 32);
  EXPECT_EQ(c->norm_eps, 1e-6f);
  EXPECT_EQ(c->attn_scale, static_cast<float>(1 / std::sqrt(32.0)));
  EXPECT_EQ(c->embedding_scale, 1.0f);
  EXPECT_EQ(c->activation, Activation::kSilu);
  EXPECT_FALSE(c->qk_norm || c->qkv_bias || c->post_norms || c->yarn.enabled);
  EXPECT_EQ(c->rope, (RopeConfig{.base = 1e4, .linear_factor = 1.0, .dim = 32, .interleaved = true}));
  EXPECT_EQ(c->rope_local, c->rope);
  EXPECT_EQ(c->window, std::vector<int64_t>(12, 0));
}

TEST(Config, QwenFamilies) {
  const auto two = TestModel("qwen2").set("rope.freq_base", 1e6f).config();
  ASSERT_TRUE(two) << two.error().message;
  EXPECT_TRUE(two->qkv_bias);
  EXPECT_FALSE(two->qk_norm);
  EXPECT_FALSE(two->rope.interleaved);
  EXPECT_EQ(two->rope.base, 1e6);
  const auto three = TestModel("qwen3").set("attention.key_length", 64u).set("attention.value_length", 64u).config();
  ASSERT_TRUE(three) << three.error().message;
  EXPECT_FALSE(three->qkv_bias);
  EXPECT_TRUE(three->qk_norm);
  EXPECT_FALSE(three->rope.interleaved);
  EXPECT_EQ(three->head_dim, 64);  // not dim / heads
  EXPECT_EQ(three->rope.dim, 64);
  EXPECT_EQ(three->attn_scale, 0.125f);
}

TEST(Config, GemmaDefaults) {
  const auto c = TestModel("gemma3").config();
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->embedding_scale, static_cast<float>(std::sqrt(128.0)));
  EXPECT_EQ(c->activation, Activation::kGeluTanh);
  EXPECT_TRUE(c->qk_norm);
  EXPECT_TRUE(c->post_norms);
  EXPECT_EQ(c->rope, (RopeConfig{.base = 1e6, .linear_factor = 1.0, .dim = 32, .interleaved = false}));
  EXPECT_EQ(c->rope_local, (RopeConfig{.base = 1e4, .linear_factor = 1.0, .dim = 32, .interleaved = false}));
  const std::vector<int64_t> six = {512, 512, 512, 512, 512, 0};
  EXPECT_EQ(std::vector<int64_t>(c->window.begin(), c->window.begin() + 6), six);
  EXPECT_EQ(std::vector<int64_t>(c->window.begin() + 6, c->window.end()), six);
}

TEST(Config, GemmaMetadataOverridesTheDefaults) {
  const auto c = TestModel("gemma3")
                     .set("attention.sliding_window", 64u)
                     .set("rope.freq_base", 5e5f)
                     .set("rope.local.freq_base", 2e4f)
                     .set("rope.scaling.type", "linear")
                     .set("rope.scaling.factor", 8.0f)
                     .set("attention.sliding_window_pattern", 4u)
                     .config();
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->rope.base, 5e5);
  EXPECT_EQ(c->rope.linear_factor, 8.0);
  EXPECT_EQ(c->rope_local.base, 2e4);
  EXPECT_EQ(c->rope_local.linear_factor, 1.0);  // scaling belongs to the full layers
  EXPECT_EQ(c->window, (std::vector<int64_t>{64, 64, 64, 0, 64, 64, 64, 0, 64, 64, 64, 0}));
}

TEST(Config, GemmaWindowsAsAList) {
  const std::vector<bool> list = {true, false, true, true, true, true, true, true, true, true, true, false};
  const auto c = TestModel("gemma3").set("attention.sliding_window_pattern", list).config();
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->window, (std::vector<int64_t>{512, 0, 512, 512, 512, 512, 512, 512, 512, 512, 512, 0}));
  EXPECT_EQ(TestModel("gemma3").set("attention.sliding_window_pattern", std::vector<bool>{true}).refusal(kInvalid),
            "metadata key 'gemma3.attention.sliding_window_pattern': the array is not one boolean for each layer");
}

TEST(Config, LargeGemmas) {
  const auto c = TestModel("gemma3").set("block_count", 62u).set("attention.key_length", 16u).config();
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->attn_scale, static_cast<float>(1 / std::sqrt(128.0 / 4)));
  EXPECT_EQ(c->window[0], 1024);
  EXPECT_EQ(c->window[59], 0);
  EXPECT_EQ(c->window[61], 1024);
}

TEST(Config, MistralWindow) {
  const auto c = TestModel("llama").set("attention.sliding_window", 512u).config();
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->window, std::vector<int64_t>(12, 512));
  EXPECT_EQ(c->rope_local, c->rope);
  // A window that no position can leave is none.
  EXPECT_EQ(TestModel("llama").set("attention.sliding_window", 4096u).config()->window, std::vector<int64_t>(12, 0));
  EXPECT_EQ(TestModel("qwen2").set("attention.sliding_window", 131072u).config()->window, std::vector<int64_t>(12, 0));
  EXPECT_EQ(TestModel("qwen2").set("attention.sliding_window", 512u).refusal(kUnsupported),
            "metadata key 'qwen2.attention.sliding_window': a sliding window is not supported for this architecture");
}

TEST(Config, RopeScaling) {
  const auto linear = [](TestModel m) { return m.config()->rope.linear_factor; };
  EXPECT_EQ(linear(TestModel("llama").set("rope.scaling.factor", 4.0f)), 4.0);
  EXPECT_EQ(linear(TestModel("llama").set("rope.scale_linear", 2.0f)), 2.0);
  EXPECT_EQ(linear(TestModel("llama").set("rope.scaling.type", "none").set("rope.scaling.factor", 4.0f)), 1.0);
  const auto c = TestModel("qwen2")
                     .set("rope.scaling.type", "yarn")
                     .set("rope.scaling.factor", 4.0f)
                     .set("rope.scaling.original_context_length", 1024u)
                     .set("rope.scaling.attn_factor", 0.5f)
                     .set("rope.scaling.yarn_beta_fast", 16.0f)
                     .config();
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_TRUE(c->yarn.enabled);
  EXPECT_EQ(c->yarn.factor, 4.0);
  EXPECT_EQ(c->yarn.original_context, 1024);
  EXPECT_EQ(c->yarn.attn_factor, 0.5);
  EXPECT_EQ(c->yarn.beta_fast, 16.0);
  EXPECT_EQ(c->yarn.beta_slow, 1.0);
  EXPECT_EQ(c->rope.linear_factor, 1.0);
  EXPECT_EQ(TestModel("llama").set("rope.scaling.type", "longrope").refusal(kUnsupported),
            "metadata key 'llama.rope.scaling.type': the type 'longrope' is not supported; none, linear and yarn are");
  EXPECT_EQ(TestModel("llama").set("rope.dimension_count", 16u).config()->rope.dim, 16);
}

TEST(Config, KeysMayBeOneValueForEachLayer) {
  const std::vector<int32_t> same(12, 4);
  EXPECT_EQ(TestModel("llama").set("attention.head_count_kv", same).config()->kv_heads, 4);
  std::vector<int32_t> other = same;
  other[7] = 2;
  EXPECT_EQ(TestModel("llama").set("attention.head_count_kv", other).refusal(kUnsupported),
            "metadata key 'llama.attention.head_count_kv': values that differ between layers are not supported");
  EXPECT_EQ(TestModel("llama").set("attention.head_count_kv", std::vector<int32_t>(3, 4)).refusal(kInvalid),
            "metadata key 'llama.attention.head_count_kv': the array has 3 elements for 12 layers");
  EXPECT_EQ(TestModel("llama").set("feed_forward_length", std::vector<float>(12, 4.0f)).refusal(kInvalid),
            "metadata key 'llama.feed_forward_length': the array's elements are not integers");
}

TEST(Config, HeadCountOfKVDefaultsToHeads) {
  EXPECT_EQ(TestModel("llama").drop("attention.head_count_kv").config()->kv_heads, 4);
}

TEST(Config, MissingKeysAreNamed) {
  for (const char* key : {"block_count", "context_length", "embedding_length", "feed_forward_length",
                          "attention.head_count", "attention.layer_norm_rms_epsilon"}) {
    EXPECT_EQ(TestModel("llama").drop(key).refusal(kInvalid),
              "metadata key 'llama." + std::string(key) + "': the key is missing");
  }
  EXPECT_EQ(TestModel("llama").drop(".general.architecture").refusal(kInvalid),
            "metadata key 'general.architecture' is missing");
  EXPECT_EQ(TestModel("llama").rows(0).refusal(kInvalid), "tensor 'token_embd.weight' is missing");
}

TEST(Config, OtherArchitecturesAndFeaturesAreRefusedByName) {
  EXPECT_EQ(TestModel("phi3").refusal(kUnsupported),
            "architecture 'phi3' is not supported; supported are llama, qwen2, qwen3, gemma3");
  EXPECT_EQ(TestModel("a\nb").refusal(kUnsupported).substr(0, 21), "architecture 'a\\x0ab'");
  EXPECT_EQ(TestModel("llama").set(".general.type", "adapter").refusal(kUnsupported),
            "metadata key 'general.type': 'adapter' is not supported; only 'model' is");
  EXPECT_EQ(TestModel("llama").set("expert_count", 8u).refusal(kUnsupported),
            "metadata key 'llama.expert_count': this feature is not supported");
  EXPECT_TRUE(TestModel("llama").set("expert_count", 0u).config());
  EXPECT_EQ(TestModel("gemma3").set("final_logit_softcapping", 30.0f).refusal(kUnsupported),
            "metadata key 'gemma3.final_logit_softcapping': this feature is not supported");
  EXPECT_EQ(TestModel("qwen2").set("attention.causal", false).refusal(kUnsupported),
            "metadata key 'qwen2.attention.causal': only causal attention is supported");
}

TEST(Config, ValuesOutOfRangeAreNamed) {
  const auto with = [](const std::string& key, Setting value) {
    return TestModel("llama").set(key, std::move(value)).refusal(kInvalid);
  };
  const auto names = [](const std::string& key) { return "metadata key 'llama." + key + "': the value "; };
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const std::pair<const char*, Setting> bad[] = {
      {"block_count", 0u},
      {"block_count", 1001u},
      {"context_length", 0u},
      {"embedding_length", 0u},
      {"embedding_length", 1000000u},
      {"feed_forward_length", 0u},
      {"feed_forward_length", 0xffffffffu},
      {"attention.head_count", 0u},
      {"attention.head_count_kv", 0u},
      {"attention.head_count_kv", std::vector<int32_t>(12, -1)},
      {"attention.key_length", 0u},
      {"attention.key_length", 520u},
      {"attention.layer_norm_rms_epsilon", 0.0f},
      {"attention.layer_norm_rms_epsilon", -1e-5f},
      {"attention.layer_norm_rms_epsilon", nan},
      {"rope.freq_base", 0.0f},
      {"rope.freq_base", 1.0f},
      {"rope.freq_base", infinity},
      {"rope.freq_base", nan},
      {"rope.scaling.factor", 0.0f},
      {"rope.scaling.factor", -infinity},
      {"rope.dimension_count", 0u},
      {"rope.dimension_count", 7u},
      {"rope.dimension_count", 34u},
      {"attention.scale", 0.0f},
      {"expert_count", nan},
  };
  for (const auto& [key, value] : bad) {
    EXPECT_EQ(with(key, value).substr(0, names(key).size()), names(key)) << with(key, value);
  }
}

TEST(Config, ShapesThatDoNotFitTogetherAreRefused) {
  const auto invalid = [](TestModel m) { return m.refusal(kInvalid); };
  EXPECT_EQ(invalid(TestModel("llama").set("attention.head_count_kv", 3u)),
            "metadata key 'llama.attention.head_count_kv': the 4 heads are not a multiple of the 3 KV heads");
  EXPECT_EQ(invalid(TestModel("llama").set("attention.head_count", 6u)),
            "metadata key 'llama.attention.head_count': the embedding length 128 is not a multiple of the 6 heads");
  EXPECT_EQ(TestModel("llama").set("attention.head_count", 32u).refusal(kUnsupported),
            "metadata key 'llama.attention.head_count': the head size 4 is not a multiple of 8 up to 512");
  EXPECT_EQ(TestModel("llama").set("attention.key_length", 36u).refusal(kUnsupported),
            "metadata key 'llama.attention.key_length': the head size 36 is not a multiple of 8 up to 512");
  EXPECT_EQ(TestModel("llama").set("attention.value_length", 64u).refusal(kUnsupported),
            "metadata key 'llama.attention.value_length': the value length 64 differs from the key length 32");
  EXPECT_EQ(invalid(TestModel("llama").rows(2).set(".tokenizer.ggml.tokens", std::vector<std::string>(3, "x"))),
            "metadata key 'tokenizer.ggml.tokens': 3 tokens, but tensor 'token_embd.weight' has 2 rows");
}

TEST(Config, WrongTypesAreNamed) {
  EXPECT_EQ(TestModel("llama").set("block_count", "12").refusal(kInvalid),
            "metadata key 'llama.block_count': its type is string, not an integer");
  EXPECT_EQ(TestModel("llama").set("rope.scaling.type", 1u).refusal(kInvalid),
            "metadata key 'llama.rope.scaling.type': its type is uint32, not string");
  EXPECT_EQ(TestModel("llama").set(".general.architecture", 1u).refusal(kInvalid),
            "metadata key 'general.architecture': its type is uint32, not string");
}

}  // namespace
}  // namespace toccata::model
