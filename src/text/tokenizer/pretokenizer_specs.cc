// The table behind tokenizer.ggml.pre. The names are llama.cpp's (src/llama-vocab.cpp); the patterns are those of the
// models' own tokenizer.json files (as quoted there, or in transformers' tokenization_*.py), so that the words are
// Hugging Face's. NFC where the model's tokenizer.json has that normalizer.
#include <algorithm>
#include <string>

#include "text/tokenizer/pretokenizer.h"

namespace toccata {

namespace {

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define SPACES "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define CASED_PATTERN(letters, digits) \
  CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?[" letters "]+|" digits "| ?[^\\s" letters "\\p{N}]+[\\r\\n]*|" SPACES
// Words of o200k_base: capitals, then small letters, with an optional contraction.
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define O200K_PATTERN(tail, digits)                                                                               \
  "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" tail "|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER "*" tail "|" digits \
  "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" SPACES

constexpr char kGpt2[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
constexpr char kDigit[] = "\\p{N}";
constexpr char kThreeDigits[] = "\\p{N}{1,3}";
constexpr char kQwen2[] = CASED_PATTERN("\\p{L}", "\\p{N}");
constexpr char kQwen35[] = CASED_PATTERN("\\p{L}\\p{M}", "\\p{N}");
constexpr char kLlama3[] = CASED_PATTERN("\\p{L}", "\\p{N}{1,3}");
constexpr char kMiniCpm5[] = CASED_PATTERN("\\p{L}", "\\p{N}+");
constexpr char kTekken[] = O200K_PATTERN("", "\\p{N}");
constexpr char kO200k[] = O200K_PATTERN(CONTRACTIONS "?", "\\p{N}{1,3}");
constexpr char kYoutu[] = O200K_PATTERN(CONTRACTIONS "?", "\\p{N}");
constexpr char kBloom[] = " ?[^(\\s|.,!?\\x{2026}\\x{3002}\\x{FF0C}\\x{3001}\\x{964}\\x{6D4}\\x{60C})]+";
constexpr char kDeepSeek3[] =
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
    "| ?[\\p{P}\\p{S}]+[\\r\\n]*|" SPACES;
constexpr char kCjkKana[] = "[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]+";
constexpr char kCjkHangul[] = "[\\x{4E00}-\\x{9FA5}\\x{800}-\\x{4E00}\\x{AC00}-\\x{D7FF}]+";
constexpr char kYoutuScripts[] =
    "[\\x{AC00}-\\x{D7A3}\\x{3131}-\\x{318E}]+"
    "|[\\x{FF01}\\x{2026}\\x{201C}\\x{201D}\\x{2018}\\x{2019}\\x{2014}\\x{FF1A}\\x{FF1B}\\x{FF0C}"
    "\\x{3001}-\\x{303F}\\x{FE30}-\\x{FE4F}]+"
    "|[\\x{3105}-\\x{312F}]+|[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]+";
// The cased alphabets as DeepSeek LLM lists them.
constexpr char kDeepSeekLetters[] =
    "\\s?[A-Za-z\\x{B5}\\x{C0}-\\x{D6}\\x{D8}-\\x{F6}\\x{F8}-\\x{1BA}\\x{1BC}-\\x{1BF}\\x{1C4}-\\x{293}\\x{295}-\\x{"
    "2AF}"
    "\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37B}-\\x{37D}\\x{37F}\\x{386}\\x{388}-\\x{38A}\\x{38C}\\x{38E}-\\x{3A1}"
    "\\x{3A3}-\\x{3F5}\\x{3F7}-\\x{481}\\x{48A}-\\x{52F}\\x{531}-\\x{556}\\x{10A0}-\\x{10C5}\\x{13A0}-\\x{13F5}"
    "\\x{13F8}-\\x{13FD}\\x{1C90}-\\x{1CBA}\\x{1CBD}-\\x{1CBF}\\x{1D00}-\\x{1D2B}\\x{1D6B}-\\x{1D77}\\x{1D79}-\\x{1D9A}"
    "\\x{1E00}-\\x{1F15}\\x{1F18}-\\x{1F1D}\\x{1F20}-\\x{1F45}\\x{1F48}-\\x{1F4D}\\x{1F50}-\\x{1F57}\\x{1F59}\\x{1F5B}"
    "\\x{1F5D}\\x{1F5F}-\\x{1F7D}\\x{1F80}-\\x{1FB4}\\x{1FB6}-\\x{1FBC}\\x{1FBE}\\x{1FC2}-\\x{1FC4}\\x{1FC6}-\\x{1FCC}"
    "\\x{1FD0}-\\x{1FD3}\\x{1FD6}-\\x{1FDB}\\x{1FE0}-\\x{1FEC}\\x{1FF2}-\\x{1FF4}\\x{1FF6}-\\x{1FFC}\\x{2102}\\x{2107}"
    "\\x{210A}-\\x{2113}\\x{2115}\\x{2119}-\\x{211D}\\x{2124}\\x{2126}\\x{2128}\\x{212A}-\\x{212D}\\x{212F}-\\x{2134}"
    "\\x{2139}\\x{213C}-\\x{213F}\\x{2145}-\\x{2149}\\x{214E}\\x{2183}\\x{2184}\\x{2C00}-\\x{2C7B}\\x{2C7E}-\\x{2CE4}"
    "\\x{2CEB}-\\x{2CEE}\\x{2CF2}\\x{2CF3}\\x{A640}-\\x{A66D}\\x{A680}-\\x{A69B}\\x{A722}-\\x{A76F}\\x{A771}-\\x{A787}"
    "\\x{A78B}-\\x{A78E}\\x{AB70}-\\x{ABBF}\\x{FB00}-\\x{FB06}\\x{FB13}-\\x{FB17}\\x{FF21}-\\x{FF3A}\\x{FF41}-\\x{FF5A}"
    "\\x{10400}-\\x{1044F}\\x{104B0}-\\x{104D3}\\x{104D8}-\\x{104FB}\\x{10C80}-\\x{10CB2}\\x{10CC0}-\\x{10CF2}"
    "\\x{118A0}-\\x{118DF}\\x{1E900}-\\x{1E943}]+";
constexpr char kDeepSeekPunctuation[] =
    "\\s?[!-/:-~\\x{FF01}-\\x{FF0F}\\x{FF1A}-\\x{FF5E}\\x{2018}-\\x{201F}\\x{3000}-\\x{3002}]+";
// \s+$ at the end of a piece without line breaks, in a form that tries each run of white space once.
constexpr char kTrailingSpace[] = "(?<!\\s)\\s++\\z";
// \p{N}+ after the byte-level mapping, where the letters of bytes B2, B3, B9 and BC..BE are numbers.
constexpr char kNumberBytes[] = "[0-9\\xB2\\xB3\\xB9\\xBC-\\xBE]+";
// EXAONE's (?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+; nothing follows it, so possessive repeats match the same.
constexpr char kExaoneMoe[] = CONTRACTIONS
    "|[^\\r\\n\\p{L}\\p{N}]?(?:\\p{L}\\p{M}*+(?: \\p{L}\\p{M}*+)*+)++|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]?"
    "|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+";
constexpr char kBailing[] =
    "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]"
    "|\\s+(?!\\S)|\\s+";
constexpr char kSeedCoder[] = CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|" SPACES;
constexpr char kUfakZeka[] = "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" SPACES;
class Table {
 public:
  Table() {
    for (auto name : {"gpt-2", "phi-2", "gigachat", "a.x-4.0", "mellum", "exaone4", "trillion", "granite-docling",
                      "jais", "mpt", "olmo"}) {
      add(name, {{kGpt2}}).scanner = Scanner::kGpt2;
    }
    for (auto name : {"smollm", "starcoder", "refact", "codeshell", "exaone", "minerva-7b", "mellum2", "command-r"}) {
      add(name, {{kDigit}, {kGpt2}}).scanner = Scanner::kDigitsGpt2;
    }
    for (auto name :
         {"qwen2", "deepseek-r1-qwen", "f2llmv2", "stablelm2", "kormo", "megrez", "hunyuan", "solar-open", "grok-2"}) {
      add_cased(name, kQwen2, {1, false});
    }
    add_cased("qwen35", kQwen35, {1, true});
    for (auto name :
         {"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano"}) {
      PreTokenizerSpec& spec = add_cased(name, kLlama3, {3, false});
      spec.ignore_merges = spec.add_bos = true;
    }
    for (auto name : {"dbrx", "smaug-bpe", "chatglm-bpe", "glm4"}) add_cased(name, kLlama3, {3, false});
    add_regex_only();
    // GPT-NeoX's tokenizer, which MPT and OLMo use, Cohere's, and Qwen's with what is built on it.
    for (auto name : {"mpt", "olmo", "command-r", "qwen2", "qwen35", "deepseek-r1-qwen", "f2llmv2", "stablelm2"}) {
      find(name)->nfc = true;
    }
  }

  const std::vector<PreTokenizerSpec>& specs() const { return specs_; }

 private:
  PreTokenizerSpec& add(std::string_view name, std::vector<SplitStage> stages) {
    PreTokenizerSpec& spec = specs_.emplace_back();
    spec.name = name;
    spec.stages = std::move(stages);
    return spec;
  }

  PreTokenizerSpec& add_cased(std::string_view name, const char* pattern, CasedRules rules) {
    PreTokenizerSpec& spec = add(name, {{pattern}});
    spec.scanner = Scanner::kCased;
    spec.rules = rules;
    return spec;
  }

  void add_regex_only() {
    // llama.cpp's fallback for files that name no pre-tokenizer.
    add("default", {{"[\\p{P}$+<=>^~|]+"}, {kGpt2}, {"\\p{N}+"}, {"[0-9][0-9][0-9]"}});
    add("falcon", {{"[\\p{P}$+<=>^~|`]+"}, {kGpt2}, {kNumberBytes, true}, {"[0-9][0-9][0-9]"}});
    add("deepseek-llm",
        {{"[\\r\\n]"}, {kDeepSeekLetters}, {kDeepSeekPunctuation}, {kTrailingSpace}, {kCjkHangul}, {"\\p{N}+"}});
    add("deepseek-coder", {{"[\\r\\n]"}, {"\\s?\\p{L}+"}, {"\\s?\\p{P}+"}, {kCjkHangul}, {kDigit}});
    for (auto name : {"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"}) {
      add(name, {{kThreeDigits}, {kCjkKana}, {kDeepSeek3}});
    }
    for (auto name : {"bloom", "poro-chat", "gpt3-finnish"}) add(name, {{kBloom}});
    add("viking", {{kBloom}, {kDigit}});
    PreTokenizerSpec& tekken = add("tekken", {{kTekken}});
    tekken.ignore_merges = tekken.add_bos = true;
    for (auto name : {"gpt-4o", "llama4", "kanana2", "minimax-m2"}) add(name, {{kO200k}});
    add("youtu", {{kYoutuScripts}, {kYoutu}}).ignore_merges = true;
    for (auto name : {"bailingmoe", "bailingmoe2", "llada-moe"}) add(name, {{kBailing}});
    add("seed-coder", {{kSeedCoder}});
    add("exaone-moe", {{kExaoneMoe}});
    add("ufakzeka", {{kUfakZeka}});
    add("laguna", {{"[^\\n]+|\\n+"}, {kQwen2}});
    add("minicpm5", {{kThreeDigits}, {kMiniCpm5}}).ignore_merges = true;
  }

  PreTokenizerSpec* find(std::string_view name) {
    return &*std::find_if(specs_.begin(), specs_.end(), [&](const auto& s) { return s.name == name; });
  }

  std::vector<PreTokenizerSpec> specs_;
};

}  // namespace

const std::vector<PreTokenizerSpec>& all_pretokenizers() {
  static const Table table;
  return table.specs();
}

const PreTokenizerSpec* find_pretokenizer(std::string_view name) {
  for (const PreTokenizerSpec& spec : all_pretokenizers()) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

}  // namespace toccata
