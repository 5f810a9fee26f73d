#include "model/weights.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "base/check.h"
#include "tensor/dequantize.h"

namespace toccata::model {

namespace {

std::string shape_text(const std::vector<int64_t>& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "]";
}

}  // namespace

// Collects what each weight needs first (so that a bad file is refused before memory is taken), then packs.
class WeightLoader {
 public:
  WeightLoader(Weights& weights, const ModelConfig& config) : w_(weights), c_(config), file_(*weights.file_) {}

  Status plan();
  Status allocate();
  void pack(ThreadPool& pool, const std::function<void(double)>& progress);

 private:
  struct Job {
    const gguf::Tensor* tensor;
    kernels::PackedMatrix* matrix;
    size_t offset;  // in the arena
  };

  const gguf::Tensor* take(const std::string& name);
  Status matrix(const std::string& name, int64_t rows, int64_t cols, Linear& out);
  Status vector(const std::string& name, int64_t size, int64_t padded, bool required, const float*& out);
  Status linear(const std::string& name, int64_t rows, int64_t cols, bool bias_required, Linear& out);
  Status layer(int index, LayerWeights& out);
  Status output_and_embedding();
  Status refuse_unused() const;
  void pack_one(Team& team, const Job& job);

  Weights& w_;
  const ModelConfig& c_;
  const gguf::File& file_;
  std::vector<Job> jobs_;
  std::set<std::string, std::less<>> used_;
  size_t arena_bytes_ = 0;
};

const gguf::Tensor* WeightLoader::take(const std::string& name) {
  used_.insert(name);
  return file_.find_tensor(name);
}

Status WeightLoader::matrix(const std::string& name, int64_t rows, int64_t cols, Linear& out) {
  const gguf::Tensor* t = take(name);
  if (!t) return fail(ErrorCode::kInvalidFile, "tensor '" + name + "' is missing");
  if (t->dims.size() != 2 || t->cols() != cols || t->rows() != rows) {
    return fail(ErrorCode::kInvalidFile, "tensor '" + name + "' has shape " + shape_text(t->dims) + ", but [" +
                                             std::to_string(cols) + ", " + std::to_string(rows) + "] is needed");
  }
  // Activations are quantised in runs of 32; the loader's quantised formats fulfil this by themselves.
  const int block = kernels::act_kind(t->type) == kernels::ActKind::kF32 ? 1 : 32;
  if (cols % block != 0) {
    return fail(ErrorCode::kInvalidFile, "tensor '" + name + "' has rows of " + std::to_string(cols) +
                                             " elements, which is no multiple of " + std::to_string(block));
  }
  out.matrix.type = t->type;
  out.matrix.rows = rows;
  out.matrix.cols = cols;
  out.matrix.group_bytes = kernels::packed_group_bytes(t->type, cols);
  jobs_.push_back({t, &out.matrix, arena_bytes_});
  arena_bytes_ += out.matrix.group_bytes * static_cast<size_t>(out.matrix.groups());
  w_.matmul_parameters_ += static_cast<uint64_t>(rows) * static_cast<uint64_t>(cols);
  return {};
}

Status WeightLoader::vector(const std::string& name, int64_t size, int64_t padded, bool required, const float*& out) {
  const gguf::Tensor* t = take(name);
  if (!t && !required) return {};
  if (!t) return fail(ErrorCode::kInvalidFile, "tensor '" + name + "' is missing");
  if (t->dims.size() != 1 || t->cols() != size) {
    return fail(ErrorCode::kInvalidFile, "tensor '" + name + "' has shape " + shape_text(t->dims) + ", but [" +
                                             std::to_string(size) + "] is needed");
  }
  std::vector<float>& v = w_.vectors_.emplace_back(static_cast<size_t>(padded), 0.0f);
  dequantize_row(t->type, t->data, size, v.data());
  out = v.data();
  return {};
}

Status WeightLoader::linear(const std::string& name, int64_t rows, int64_t cols, bool bias_required, Linear& out) {
  if (Status s = matrix(name + ".weight", rows, cols, out); !s) return s;
  return vector(name + ".bias", rows, out.matrix.padded_rows(), bias_required, out.bias);
}

Status WeightLoader::layer(int index, LayerWeights& l) {
  const std::string p = "blk." + std::to_string(index) + ".";
  const int64_t q_dim = int64_t{c_.heads} * c_.head_dim;
  const int64_t kv_dim = int64_t{c_.kv_heads} * c_.head_dim;
  const int64_t dim = c_.dim, ff = c_.ff_dim, hd = c_.head_dim;
  Status s = vector(p + "attn_norm.weight", dim, dim, true, l.attn_norm);
  if (s) s = linear(p + "attn_q", q_dim, dim, c_.qkv_bias, l.q);
  if (s) s = linear(p + "attn_k", kv_dim, dim, c_.qkv_bias, l.k);
  if (s) s = linear(p + "attn_v", kv_dim, dim, c_.qkv_bias, l.v);
  if (s) s = linear(p + "attn_output", dim, q_dim, false, l.o);
  if (s && c_.qk_norm) s = vector(p + "attn_q_norm.weight", hd, hd, true, l.q_norm);
  if (s && c_.qk_norm) s = vector(p + "attn_k_norm.weight", hd, hd, true, l.k_norm);
  if (s && c_.post_norms) s = vector(p + "post_attention_norm.weight", dim, dim, true, l.attn_post_norm);
  if (s) s = vector(p + "ffn_norm.weight", dim, dim, true, l.ffn_norm);
  if (s) s = linear(p + "ffn_gate", ff, dim, false, l.gate);
  if (s) s = linear(p + "ffn_up", ff, dim, false, l.up);
  if (s) s = linear(p + "ffn_down", dim, ff, false, l.down);
  if (s && c_.post_norms) s = vector(p + "post_ffw_norm.weight", dim, dim, true, l.ffn_post_norm);
  return s;
}

Status WeightLoader::output_and_embedding() {
  const std::string embedding = "token_embd.weight";
  const gguf::Tensor* t = take(embedding);
  if (!t) return fail(ErrorCode::kInvalidFile, "tensor '" + embedding + "' is missing");
  if (t->dims.size() != 2 || t->cols() != c_.dim || t->rows() != c_.vocab) {
    return fail(ErrorCode::kInvalidFile, "tensor '" + embedding + "' has shape " + shape_text(t->dims) + ", but [" +
                                             std::to_string(c_.dim) + ", " + std::to_string(c_.vocab) + "] is needed");
  }
  w_.embedding_ = t;
  w_.tied_ = file_.find_tensor("output.weight") == nullptr;
  if (Status s = vector("output_norm.weight", c_.dim, c_.dim, true, w_.output_norm_); !s) return s;
  return matrix(w_.tied_ ? embedding : "output.weight", c_.vocab, c_.dim, w_.output_);
}

Status WeightLoader::refuse_unused() const {
  for (const gguf::Tensor& t : file_.tensors()) {
    if (used_.count(t.name) == 0 && t.name.find("rotary_emb.inv_freq") == std::string::npos) {
      return fail(ErrorCode::kUnsupported, "tensor '" + gguf::printable(t.name) + "' is not part of architecture '" +
                                               c_.architecture + "' as toccata knows it");
    }
  }
  return {};
}

Status WeightLoader::plan() {
  // Pointers into layers_ and vectors_' elements are kept, so neither may move: layers_ is sized once, and a
  // std::vector<float> keeps its heap block when vectors_ grows.
  w_.layers_.resize(static_cast<size_t>(c_.layers));
  for (int i = 0; i < c_.layers; ++i) {
    if (Status s = layer(i, w_.layers_[static_cast<size_t>(i)]); !s) return s;
  }
  if (Status s = output_and_embedding(); !s) return s;
  if (Status s = vector("rope_freqs.weight", c_.rope.dim / 2, c_.rope.dim / 2, false, w_.rope_factors_); !s) return s;
  if (w_.rope_factors_) {
    for (int i = 0; i < c_.rope.dim / 2; ++i) {
      if (!(std::isfinite(w_.rope_factors_[i]) && w_.rope_factors_[i] > 0)) {
        return fail(ErrorCode::kInvalidFile, "tensor 'rope_freqs.weight' holds a value that is not positive");
      }
    }
  }
  return refuse_unused();
}

Status WeightLoader::allocate() {
  Result<AlignedBuffer> arena = AlignedBuffer::allocate(arena_bytes_);
  if (!arena) return tl::unexpected(arena.error());
  w_.arena_ = std::move(*arena);
  for (const Job& job : jobs_) job.matrix->data = w_.arena_.data() + job.offset;
  return {};
}

void WeightLoader::pack_one(Team& team, const Job& job) {
  const kernels::PackedMatrix& m = *job.matrix;
  const gguf::Tensor& t = *job.tensor;
  const size_t row = row_bytes(t.type, m.cols);
  const MappedFile& shard = *file_.shards()[static_cast<size_t>(t.shard)];
  const size_t tensor_offset = static_cast<size_t>(t.data - shard.data());
  // About 1 MiB of source per item: large enough to make the release call cheap.
  const int64_t grain = std::max<int64_t>(1, static_cast<int64_t>((size_t{1} << 20) / (row * kernels::kGroupRows + 1)));
  team.parallel_for(m.groups(), grain, [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) {
      const int64_t first = g * kernels::kGroupRows;
      kernels::pack_group(t.type, t.data + static_cast<size_t>(first) * row, m.cols,
                          std::min<int64_t>(kernels::kGroupRows, m.rows - first),
                          w_.arena_.data() + job.offset + static_cast<size_t>(g) * m.group_bytes);
    }
    const size_t from = static_cast<size_t>(begin * kernels::kGroupRows) * row;
    const size_t to = static_cast<size_t>(std::min(end * kernels::kGroupRows, m.rows)) * row;
    shard.release(tensor_offset + from, to - from);
  });
}

void WeightLoader::pack(ThreadPool& pool, const std::function<void(double)>& progress) {
  size_t done = 0;
  for (const Job& job : jobs_) {
    pool.run([&](Team& team) { pack_one(team, job); });
    done += job.matrix->group_bytes * static_cast<size_t>(job.matrix->groups());
    if (progress) progress(static_cast<double>(done) / static_cast<double>(arena_bytes_));
  }
}

Result<std::unique_ptr<Weights>> Weights::load(std::shared_ptr<const gguf::File> file, const ModelConfig& config,
                                               ThreadPool& pool, const std::function<void(double)>& progress) {
  std::unique_ptr<Weights> weights(new Weights);
  weights->file_ = std::move(file);
  WeightLoader loader(*weights, config);
  if (Status s = loader.plan(); !s) {
    return fail(s.error().code, weights->file_->shards().front()->path() + ": " + s.error().message);
  }
  if (Status s = loader.allocate(); !s) return tl::unexpected(s.error());
  loader.pack(pool, progress);
  return weights;
}

void Weights::embedding(int32_t token, float* out) const {
  if (tied_) {
    kernels::unpack_row(output_.matrix, token, out);
    return;
  }
  const int64_t cols = embedding_->cols();
  dequantize_row(embedding_->type, embedding_->data + static_cast<size_t>(token) * row_bytes(embedding_->type, cols),
                 cols, out);
}

}  // namespace toccata::model
