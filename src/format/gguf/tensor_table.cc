// The tensor records: names, shapes, types and places in the file.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "format/gguf/limits.h"
#include "format/gguf/shard.h"

namespace toccata::gguf {
namespace {

struct KnownType {
  uint32_t id;
  std::string_view name;
};

// Types of the ggml project that toccata does not run, so that a refusal can name them.
constexpr KnownType kOtherTypes[] = {
    {4, "Q4_2"},    {5, "Q4_3"},        {9, "Q8_1"},        {15, "Q8_K"},       {16, "IQ2_XXS"},
    {17, "IQ2_XS"}, {18, "IQ3_XXS"},    {19, "IQ1_S"},      {21, "IQ3_S"},      {22, "IQ2_S"},
    {24, "I8"},     {25, "I16"},        {26, "I32"},        {27, "I64"},        {28, "F64"},
    {29, "IQ1_M"},  {31, "Q4_0_4_4"},   {32, "Q4_0_4_8"},   {33, "Q4_0_8_8"},   {34, "TQ1_0"},
    {35, "TQ2_0"},  {36, "IQ4_NL_4_4"}, {37, "IQ4_NL_4_8"}, {38, "IQ4_NL_8_8"}, {40, "NVFP4"},
};

std::string describe_type(uint32_t id) {
  for (const KnownType& t : kOtherTypes) {
    if (t.id == id) return std::to_string(id) + " (" + std::string(t.name) + ")";
  }
  return std::to_string(id);
}

// A tensor and where its record says that its data begins, relative to the data section.
struct Record {
  Tensor tensor;
  uint64_t offset = 0;
};

class TensorParser {
 public:
  TensorParser(Cursor& in, std::span<const std::byte> bytes, const std::string& path, Shard& shard)
      : in_(in), bytes_(bytes), path_(path), shard_(shard) {}

  Status parse(uint64_t count);

 private:
  Status read_alignment();
  Status parse_record(uint64_t index, Record& record);
  Status read_shape(Tensor& tensor, uint32_t dims);
  Status set_type(Tensor& tensor, uint32_t id);
  Status place(Record& record, uint64_t data_begin);
  Status check_overlaps() const;

  tl::unexpected<Error> bad(const Tensor& tensor, const std::string& what,
                            ErrorCode code = ErrorCode::kInvalidFile) const {
    return fail(code, path_ + ": tensor '" + printable(tensor.name) + "': " + what);
  }
  tl::unexpected<Error> truncated(const Tensor& tensor) const { return bad(tensor, "the file ends inside its record"); }

  Cursor& in_;
  std::span<const std::byte> bytes_;
  const std::string& path_;
  Shard& shard_;
  uint64_t alignment_ = 32;  // the specification's default
};

Status TensorParser::read_alignment() {
  const auto it = shard_.metadata_index.find("general.alignment");
  if (it == shard_.metadata_index.end()) return {};
  const Value& value = shard_.metadata[it->second].second;
  const std::string prefix = path_ + ": metadata key 'general.alignment': ";
  const uint64_t* number = std::get_if<uint64_t>(&value.data);
  if (number == nullptr) {
    return fail(ErrorCode::kInvalidFile,
                prefix + "its type is " + std::string(value_type_name(value.type)) + ", not uint32");
  }
  if (!std::has_single_bit(*number) || *number < 8 || *number > limits::kAlignment) {
    return fail(ErrorCode::kInvalidFile, prefix + "the value " + std::to_string(*number) +
                                             " is not a power of two from 8 to " + std::to_string(limits::kAlignment));
  }
  alignment_ = *number;
  return {};
}

Status TensorParser::parse(uint64_t count) {
  if (auto ok = read_alignment(); !ok) return ok;
  std::vector<Record> records;
  for (uint64_t i = 0; i < count; ++i) {
    if (auto ok = parse_record(i, records.emplace_back()); !ok) return ok;
  }
  // Cannot overflow: the position is inside the file and the alignment is small.
  const uint64_t data_begin = (in_.position() + alignment_ - 1) / alignment_ * alignment_;
  shard_.tensors.reserve(records.size());
  for (Record& record : records) {
    if (auto ok = place(record, data_begin); !ok) return ok;
    shard_.tensors.push_back(std::move(record.tensor));
  }
  return check_overlaps();
}

Status TensorParser::parse_record(uint64_t index, Record& record) {
  std::string_view name;
  if (!in_.read_string(name)) {
    return fail(ErrorCode::kInvalidFile,
                path_ + ": the file ends inside the name of tensor " + std::to_string(index + 1));
  }
  Tensor& tensor = record.tensor;
  if (name.empty() || name.size() > limits::kTensorNameBytes) {
    return fail(ErrorCode::kInvalidFile, path_ + ": the name of tensor " + std::to_string(index + 1) + " ('" +
                                             printable(name) + "') has " + std::to_string(name.size()) +
                                             " bytes; 1 to " + std::to_string(limits::kTensorNameBytes) +
                                             " are allowed");
  }
  tensor.name = name;
  uint32_t dims = 0, type = 0;
  if (!in_.read(dims)) return truncated(tensor);
  if (dims < 1 || dims > limits::kDims) {
    return bad(tensor, "it has " + std::to_string(dims) + " dimensions; 1 to 4 are supported");
  }
  if (auto ok = read_shape(tensor, dims); !ok) return ok;
  if (!in_.read(type) || !in_.read(record.offset)) return truncated(tensor);
  return set_type(tensor, type);
}

Status TensorParser::read_shape(Tensor& tensor, uint32_t dims) {
  uint64_t product = 1;
  for (uint32_t d = 0; d < dims; ++d) {
    uint64_t size = 0;
    if (!in_.read(size)) return truncated(tensor);
    if (size == 0) return bad(tensor, "dimension " + std::to_string(d) + " is 0");
    // The product stays below 2^63, so that it and every partial product fit int64_t.
    if (__builtin_mul_overflow(product, size, &product) || product > uint64_t{std::numeric_limits<int64_t>::max()}) {
      return bad(tensor, "the product of its dimensions exceeds 2^63 - 1");
    }
    tensor.dims.push_back(static_cast<int64_t>(size));
  }
  return {};
}

Status TensorParser::set_type(Tensor& tensor, uint32_t id) {
  const auto type = dtype_from_gguf_id(id);
  if (!type) return bad(tensor, "its type " + describe_type(id) + " is not supported", ErrorCode::kUnsupported);
  tensor.type = *type;
  const DTypeInfo& info = dtype_info(*type);
  if (tensor.cols() % info.block_elems != 0) {
    return bad(tensor, "its rows have " + std::to_string(tensor.cols()) + " elements, not a multiple of the " +
                           std::to_string(info.block_elems) + " in a block of " + std::string(info.name));
  }
  // Elements are below 2^63, so blocks times bytes can overflow only for types of more than 2 bytes per element.
  const auto blocks = static_cast<uint64_t>(tensor.cols() / info.block_elems) * static_cast<uint64_t>(tensor.rows());
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(blocks, static_cast<uint64_t>(info.block_bytes), &bytes) || bytes > bytes_.size()) {
    return bad(tensor, "its " + std::to_string(blocks) + " blocks of " + std::string(info.name) +
                           " need more than the " + std::to_string(bytes_.size()) + " bytes of the file");
  }
  tensor.bytes = static_cast<size_t>(bytes);
  return {};
}

Status TensorParser::place(Record& record, uint64_t data_begin) {
  Tensor& tensor = record.tensor;
  if (record.offset % alignment_ != 0) {
    return bad(tensor, "its offset " + std::to_string(record.offset) + " is not a multiple of the alignment " +
                           std::to_string(alignment_));
  }
  uint64_t begin = 0, end = 0;
  if (__builtin_add_overflow(data_begin, record.offset, &begin) || __builtin_add_overflow(begin, tensor.bytes, &end) ||
      end > bytes_.size()) {
    return bad(tensor, "its data (" + std::to_string(tensor.bytes) + " bytes at offset " +
                           std::to_string(record.offset) + " of the data section at " + std::to_string(data_begin) +
                           ") passes the end of the file at " + std::to_string(bytes_.size()));
  }
  tensor.data = bytes_.data() + begin;
  return {};
}

Status TensorParser::check_overlaps() const {
  std::vector<const Tensor*> order;
  for (const Tensor& tensor : shard_.tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const Tensor* a, const Tensor* b) { return a->data < b->data; });
  for (size_t i = 1; i < order.size(); ++i) {
    if (order[i]->data < order[i - 1]->data + order[i - 1]->bytes) {
      return bad(*order[i], "its data overlaps that of tensor '" + printable(order[i - 1]->name) + "'");
    }
  }
  return {};
}

}  // namespace

Status parse_tensors(Cursor& in, uint64_t count, std::span<const std::byte> bytes, const std::string& path,
                     Shard& shard) {
  return TensorParser(in, bytes, path, shard).parse(count);
}

}  // namespace toccata::gguf
