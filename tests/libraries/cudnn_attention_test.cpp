// Multi-head attention of cuDNN against its definition, and its gradients against differences.
#include <cstring>

#include "tests/libraries/cudnn_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::cuda;

namespace {

using Values = std::vector<double>;
constexpr void* kNowhere = nullptr;

struct AttentionCase {
  int heads = 2, beams = 1;
  std::vector<int> size = {5, 4, 3}, projected = {4, 4, 2, 6};  // 0: not projected
  bool biases = false, one_to_one = false, residuals = false;
  std::vector<cudnnSeqDataAxis_t> axes = {CUDNN_SEQDATA_BATCH_DIM, CUDNN_SEQDATA_BEAM_DIM,
                                          CUDNN_SEQDATA_TIME_DIM, CUDNN_SEQDATA_VECT_DIM};
  cudnnDataType_t type = CUDNN_DATA_DOUBLE;
  static constexpr int kBatch = 2, kQueries = 4, kKeys = 5;
  static constexpr double kScaler = 0.7;

  int Projected(int operand) const {
    return projected[static_cast<size_t>(operand)] != 0 ? projected[static_cast<size_t>(operand)]
                                                        : size[static_cast<size_t>(operand)];
  }
  int Width() const { return projected[3] != 0 ? projected[3] : heads * Projected(2); }
  int KeyBeams() const { return one_to_one ? beams : 1; }
  // Lengths by batch and beam.
  static std::vector<int> Lengths(int beams, int most) {
    std::vector<int> lengths;
    for (int i = 0; i < kBatch * beams; ++i) lengths.push_back(most - i % 3);
    return lengths;
  }
  size_t Place(int sequence, int beams_of, int step, int steps, int vector) const {
    const int index[4] = {step, sequence / beams_of, sequence % beams_of, 0},
              extents[4] = {steps, kBatch, beams_of, vector};
    int place = 0;
    for (const auto axis : axes) place = place * extents[axis] + index[axis];
    return static_cast<size_t>(place);
  }
};

// Where weights are, by kind, and the distances of heads, rows and columns; negative: there are none.
struct WeightPlace {
  long at = -1;
  int strides[3] = {};

  size_t Of(int head, int row, int column) const {
    return static_cast<size_t>(at + head * strides[0] + row * strides[1] + column * strides[2]);
  }
};
using Places = std::vector<WeightPlace>;

struct Inputs {
  Values w, q, k, v, residuals;
};

// The keys that a query sees.
bool Sees(int query, int key) { return key >= query - 1 && key < query + 3; }

// One head's vector of an operand.
Values Project(const AttentionCase& c, const Places& places, const Values& w, int operand, int head,
               const double* from) {
  const int columns = c.size[static_cast<size_t>(operand)], rows = c.Projected(operand);
  if (c.projected[static_cast<size_t>(operand)] == 0) return {from, from + columns};
  Values result(static_cast<size_t>(rows));
  for (int i = 0; i < rows; ++i) {
    const WeightPlace &bias = places[static_cast<size_t>(operand) + 4],
                      &matrix = places[static_cast<size_t>(operand)];
    double sum = bias.at < 0 ? 0 : w[bias.Of(head, i, 0)];
    for (int j = 0; j < columns; ++j) sum += w[matrix.Of(head, i, j)] * from[j];
    result[static_cast<size_t>(i)] = sum;
  }
  return result;
}

// What one query's head makes of the values.
Values Mixed(const AttentionCase& c, const Places& places, const Inputs& in, int head, int query,
             int sequence, int keys) {
  const int of = c.one_to_one ? sequence : sequence / c.beams;
  const Values q = Project(c, places, in.w, 0, head,
                           &in.q[c.Place(sequence, c.beams, query, AttentionCase::kQueries, c.size[0])]);
  Values weights, mixed(static_cast<size_t>(c.Projected(2)));
  double sum = 0;
  for (int key = 0; key < keys; ++key) {
    const Values k = Project(c, places, in.w, 1, head,
                             &in.k[c.Place(of, c.KeyBeams(), key, AttentionCase::kKeys, c.size[1])]);
    const double score = std::inner_product(q.begin(), q.end(), k.begin(), 0.0) * AttentionCase::kScaler;
    weights.push_back(Sees(query, key) ? std::exp(score) : 0);
    sum += weights.back();
  }
  for (int key = 0; key < keys; ++key) {
    const Values v = Project(c, places, in.w, 2, head,
                             &in.v[c.Place(of, c.KeyBeams(), key, AttentionCase::kKeys, c.size[2])]);
    for (size_t i = 0; i < v.size(); ++i)
      mixed[i] += sum == 0 ? 0 : v[i] * weights[static_cast<size_t>(key)] / sum;
  }
  return mixed;
}

Values Defined(const AttentionCase& c, const Places& places, const Inputs& in) {
  const int width = c.Width(), value = c.Projected(2);
  Values out(static_cast<size_t>(AttentionCase::kBatch * c.beams * AttentionCase::kQueries * width));
  const auto queries = AttentionCase::Lengths(c.beams, AttentionCase::kQueries),
             keys = AttentionCase::Lengths(c.KeyBeams(), AttentionCase::kKeys);
  for (int sequence = 0; sequence < AttentionCase::kBatch * c.beams; ++sequence) {
    for (int query = 0; query < AttentionCase::kQueries; ++query) {
      const size_t at = c.Place(sequence, c.beams, query, AttentionCase::kQueries, width);
      for (int i = 0; i < width; ++i) {
        if (places[7].at >= 0) out[at + static_cast<size_t>(i)] += in.w[places[7].Of(0, i, 0)];
        if (c.residuals) out[at + static_cast<size_t>(i)] += in.residuals[at + static_cast<size_t>(i)];
      }
      // As recorded, a step beyond the sequence has the bias alone.
      for (int head = 0; query < queries[static_cast<size_t>(sequence)] && head < c.heads; ++head) {
        const int of = c.one_to_one ? sequence : sequence / c.beams;
        const Values mixed = Mixed(c, places, in, head, query, sequence, keys[static_cast<size_t>(of)]);
        for (int i = 0; i < (c.projected[3] != 0 ? width : 0); ++i) {
          for (int j = 0; j < value; ++j)
            out[at + static_cast<size_t>(i)] +=
                in.w[places[3].Of(head, i, j)] * mixed[static_cast<size_t>(j)];
        }
        for (int j = 0; j < (c.projected[3] != 0 ? 0 : value); ++j)
          out[at + static_cast<size_t>(head * value + j)] += mixed[static_cast<size_t>(j)];
      }
    }
  }
  return out;
}

size_t ElementOf(cudnnDataType_t type) {
  return type == CUDNN_DATA_DOUBLE ? 8 : type == CUDNN_DATA_FLOAT ? 4 : 2;
}

class AttentionRun {
 public:
  explicit AttentionRun(const AttentionCase& of, cudnnDropoutDescriptor_t dropout = nullptr,
                        cudnnDropoutDescriptor_t output_dropout = nullptr)
      : c(of) {
    Cudnn("cudnnCreateAttnDescriptor", &attention);
    Cudnn("cudnnSetAttnDescriptor", attention, (c.one_to_one ? 1u : 0u) | (c.biases ? 2u : 0u), c.heads,
          AttentionCase::kScaler, c.type, c.type == CUDNN_DATA_DOUBLE ? c.type : CUDNN_DATA_FLOAT,
          CUDNN_DEFAULT_MATH, dropout, output_dropout, c.size[0], c.size[1], c.size[2], c.projected[0],
          c.projected[1], c.projected[2], c.projected[3], AttentionCase::kQueries, AttentionCase::kKeys,
          AttentionCase::kBatch, c.beams);
    const int vectors[] = {c.size[0], c.size[1], c.size[2], c.Width()};
    for (int i = 0; i < 4; ++i) {
      const bool keys = i == 1 || i == 2;
      const int beams = keys ? c.KeyBeams() : c.beams,
                steps = keys ? AttentionCase::kKeys : AttentionCase::kQueries;
      const int extents[] = {steps, AttentionCase::kBatch, beams, vectors[i]};
      const auto lengths = AttentionCase::Lengths(beams, steps);
      Cudnn("cudnnCreateSeqDataDescriptor", &data[i]);
      Cudnn("cudnnSetSeqDataDescriptor", data[i], c.type, 4, static_cast<const int*>(extents),
            static_cast<const cudnnSeqDataAxis_t*>(c.axes.data()), lengths.size(),
            static_cast<const int*>(lengths.data()), kNowhere);
      counts[i] = static_cast<size_t>(steps * AttentionCase::kBatch * beams * vectors[i]);
    }
    size_t workspace = 1, reserve_size = 0;
    Cudnn("cudnnGetMultiHeadAttnBuffers", handle.handle, attention, &weight_bytes, &workspace, &reserve_size);
    reserve.resize(reserve_size);
    FindPlaces();
    for (int i = 0; i < AttentionCase::kQueries; ++i) begins.push_back(i - 1), ends.push_back(i + 3);
  }
  ~AttentionRun() {
    Cudnn().Call("cudnnDestroyAttnDescriptor", attention);
    for (auto one : data) Cudnn().Call("cudnnDestroySeqDataDescriptor", one);
  }
  AttentionRun(const AttentionRun&) = delete;
  AttentionRun& operator=(const AttentionRun&) = delete;

  DnnTensor Elements(const Values& numbers) const {
    return {
        c.type, {1, static_cast<int>(std::max<size_t>(numbers.size(), 1)), 1}, CUDNN_TENSOR_NCHW, numbers};
  }
  Inputs Numbers() const {
    const auto some = [](size_t count, int seed) { return ptx2cpu::Numbers(count, seed); };
    return {some(weight_bytes / ElementOf(c.type), 1), some(counts[0], 2), some(counts[1], 3),
            some(counts[2], 4), some(counts[3], 5)};
  }
  void Forward(const DnnTensor& w, const DnnTensor& q, const DnnTensor& k, const DnnTensor& v,
               const DnnTensor& residuals, DnnTensor& out, bool trains, int step = -1) {
    Cudnn("cudnnMultiHeadAttnForward", handle.handle, attention, step, static_cast<const int*>(begins.data()),
          static_cast<const int*>(ends.data()), static_cast<const int*>(nullptr),
          static_cast<const int*>(nullptr), data[0], q.data(), c.residuals ? residuals.data() : nullptr,
          data[1], k.data(), data[2], v.data(), data[3], out.data(), weight_bytes, w.data(), size_t{0},
          kNowhere, trains ? reserve.size() : size_t{0},
          trains ? static_cast<void*>(reserve.data()) : kNowhere);
    REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
  }

  const AttentionCase c;
  DnnHandle handle;
  cudnnAttnDescriptor_t attention = nullptr;
  cudnnSeqDataDescriptor_t data[4] = {};
  size_t counts[4] = {}, weight_bytes = 0;
  std::vector<char> reserve;
  std::vector<int> begins, ends;
  Places places;

 private:
  void FindPlaces() {
    cudnnTensorDescriptor_t layout = nullptr;
    Cudnn("cudnnCreateTensorDescriptor", &layout);
    const auto* const base = reinterpret_cast<const char*>(uintptr_t{4096});
    for (int kind = CUDNN_MH_ATTN_Q_WEIGHTS; kind <= CUDNN_MH_ATTN_O_BIASES; ++kind) {
      void* at = nullptr;
      Cudnn("cudnnGetMultiHeadAttnWeights", handle.handle, attention, kind, weight_bytes,
            static_cast<const void*>(base), layout, &at);
      WeightPlace place;
      if (at != nullptr)
        place.at = (static_cast<const char*>(at) - base) / static_cast<long>(ElementOf(c.type));
      cudnnDataType_t type{};
      int count = 0, extents[3] = {};
      Cudnn("cudnnGetTensorNdDescriptor", layout, 3, &type, &count, &extents[0], &place.strides[0]);
      CHECK(count == (at == nullptr ? 0 : 3));
      places.push_back(place);
      if (at == nullptr || kind >= CUDNN_MH_ATTN_Q_BIASES) continue;
      const int rows = kind == 3 ? c.Width() : c.Projected(kind),
                columns = kind == 3 ? c.Projected(2) : c.size[static_cast<size_t>(kind)];
      CHECK(std::vector<int>(extents, extents + 3) == std::vector{c.heads, rows, columns});
      // As recorded: the heads of an input are beside each other, those of the output follow each other.
      const std::vector<int> strides =
          kind == 3 ? std::vector{rows * columns, 1, rows} : std::vector{rows, 1, c.heads * rows};
      CHECK(std::vector<int>(place.strides, place.strides + 3) == strides);
    }
    Cudnn("cudnnDestroyTensorDescriptor", layout);
  }
};

std::vector<AttentionCase> Cases() {
  return {{},
          {.biases = true},
          {.projected = {4, 4, 2, 5}, .biases = true, .residuals = true},  // as large as the queries
          {.heads = 3, .size = {4, 4, 2}, .projected = {0, 0, 0, 0}},
          {.size = {4, 3, 2}, .projected = {0, 4, 3, 0}, .biases = true},
          {.heads = 1, .beams = 2, .biases = true},
          {.beams = 2,
           .one_to_one = true,
           .axes = {CUDNN_SEQDATA_TIME_DIM, CUDNN_SEQDATA_BEAM_DIM, CUDNN_SEQDATA_BATCH_DIM,
                    CUDNN_SEQDATA_VECT_DIM}}};
}

}  // namespace

TEST_CASE("cudnn: multi-head attention", "[cudnn]") {
  for (AttentionCase c : Cases()) {
    for (const auto type : {CUDNN_DATA_DOUBLE, CUDNN_DATA_FLOAT, CUDNN_DATA_HALF, CUDNN_DATA_BFLOAT16}) {
      c.type = type;
      AttentionRun run(c);
      Inputs in = run.Numbers();
      const DnnTensor w = run.Elements(in.w), q = run.Elements(in.q), k = run.Elements(in.k),
                      v = run.Elements(in.v), residuals = run.Elements(in.residuals);
      in = {w.Get(), q.Get(), k.Get(), v.Get(), residuals.Get()};
      const Values wanted = Defined(c, run.places, in);
      for (const bool trains : {false, true}) {
        INFO("heads " << c.heads << ", beams " << c.beams << ", type " << type << ", trains " << trains);
        DnnTensor out = run.Elements(Values(run.counts[3], 9));
        run.Forward(w, q, k, v, residuals, out, trains);
        CheckNear(type, out, wanted, 16);
      }
      // One step alone.
      DnnTensor out = run.Elements(Values(run.counts[3], 9));
      run.Forward(w, q, k, v, residuals, out, false, 1);
      const Values found = out.Get();
      const size_t second = c.Place(0, c.beams, 1, AttentionCase::kQueries, c.Width()),
                   third = c.Place(0, c.beams, 2, AttentionCase::kQueries, c.Width());
      CHECK(std::abs(found[second] - wanted[second]) < 0.2);
      CHECK(found[third] == 9);
    }
  }
}

namespace {

template <typename Loss>
void CheckDifferences(const DnnTensor& gradient, Values& at, double factor, const Loss& loss) {
  constexpr double kStep = 1e-5;
  const Values found = gradient.Get();
  for (size_t i = 0; i < at.size(); ++i) {
    const double value = at[i];
    at[i] = value + kStep;
    const double above = loss();
    at[i] = value - kStep;
    const double wanted = factor * (above - loss()) / (2 * kStep);
    at[i] = value;
    INFO(i << ": " << found[i] << " for " << wanted);
    REQUIRE(std::abs(found[i] - wanted) < 1e-6);
  }
}

}  // namespace

TEST_CASE("cudnn: gradients of multi-head attention", "[cudnn]") {
  for (const AttentionCase& c : Cases()) {
    INFO("heads " << c.heads << ", beams " << c.beams << ", biases " << c.biases);
    AttentionRun run(c);
    Inputs in = run.Numbers();
    const Values d = ptx2cpu::Numbers(run.counts[3], 6);
    const DnnTensor w = run.Elements(in.w), q = run.Elements(in.q), k = run.Elements(in.k),
                    v = run.Elements(in.v), residuals = run.Elements(in.residuals), dout = run.Elements(d);
    DnnTensor out = run.Elements(Values(run.counts[3])), dq = run.Elements(Values(run.counts[0])),
              dk = run.Elements(Values(run.counts[1])), dv = run.Elements(Values(run.counts[2])),
              dw = run.Elements(Values(in.w.size(), 5));
    run.Forward(w, q, k, v, residuals, out, true);
    Cudnn("cudnnMultiHeadAttnBackwardData", run.handle.handle, run.attention,
          static_cast<const int*>(run.begins.data()), static_cast<const int*>(run.ends.data()),
          static_cast<const int*>(nullptr), static_cast<const int*>(nullptr), run.data[3], dout.data(),
          run.data[0], dq.data(), q.data(), run.data[1], dk.data(), k.data(), run.data[2], dv.data(),
          v.data(), run.weight_bytes, w.data(), size_t{0}, kNowhere, run.reserve.size(),
          static_cast<void*>(run.reserve.data()));
    for (const auto mode : {CUDNN_WGRAD_MODE_SET, CUDNN_WGRAD_MODE_ADD}) {
      Cudnn("cudnnMultiHeadAttnBackwardWeights", run.handle.handle, run.attention, mode, run.data[0],
            q.data(), run.data[1], k.data(), run.data[2], v.data(), run.data[3], dout.data(),
            run.weight_bytes, w.data(), dw.data(), size_t{0}, kNowhere, run.reserve.size(),
            static_cast<void*>(run.reserve.data()));
    }
    REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
    const auto loss = [&] {
      const Values y = Defined(c, run.places, in);
      return std::inner_product(y.begin(), y.end(), d.begin(), 0.0);
    };
    CheckDifferences(dq, in.q, 1, loss);
    CheckDifferences(dk, in.k, 1, loss);
    CheckDifferences(dv, in.v, 1, loss);
    CheckDifferences(dw, in.w, 2, loss);  // set, and added once more
  }
}

TEST_CASE("cudnn: dropout in multi-head attention, and status", "[cudnn]") {
  // Values of 1 without projections: the output is the sum of the weights that remain.
  AttentionCase c{.heads = 1, .size = {2, 2, 1}, .projected = {0, 0, 0, 0}};
  std::vector<char> states(64);
  cudnnDropoutDescriptor_t dropout = nullptr;
  DnnHandle handle;
  Cudnn("cudnnCreateDropoutDescriptor", &dropout);
  Cudnn("cudnnSetDropoutDescriptor", dropout, handle.handle, 0.5f, static_cast<void*>(states.data()),
        states.size(), 11ull);
  for (const bool of_output : {false, true}) {
    INFO("of the output " << of_output);
    AttentionRun run(c, of_output ? nullptr : dropout, of_output ? dropout : nullptr);
    const DnnTensor w = run.Elements({}), q = run.Elements(Values(run.counts[0])),
                    k = run.Elements(Values(run.counts[1])), v = run.Elements(Values(run.counts[2], 1.0)),
                    none = run.Elements(Values(run.counts[3]));
    DnnTensor trained = run.Elements(Values(run.counts[3])), plain = run.Elements(Values(run.counts[3]));
    run.Forward(w, q, k, v, none, trained, true);
    run.Forward(w, q, k, v, none, plain, false);
    const Values dropped = trained.Get();
    CHECK(std::abs(plain.Get()[0] - 1) < 1e-12);
    CHECK(std::ranges::any_of(dropped, [](double value) { return std::abs(value - 1) > 0.1; }));
    for (const double value : dropped) CHECK((!of_output || value == 0 || std::abs(value - 2) < 1e-12));
  }
  Cudnn("cudnnDestroyDropoutDescriptor", dropout);

  constexpr int kBad = 2000;  // of version 9
  AttentionRun run(c);
  const auto set = [&](int heads, int q_projected, int k_projected) {
    return Cudnn().Call("cudnnSetAttnDescriptor", run.attention, 0u, heads, 1.0, CUDNN_DATA_FLOAT,
                        CUDNN_DATA_FLOAT, CUDNN_DEFAULT_MATH, cudnnDropoutDescriptor_t{},
                        cudnnDropoutDescriptor_t{}, 2, 2, 1, q_projected, k_projected, 0, 0, 4, 4, 1, 1);
  };
  CHECK(set(0, 0, 0) == kBad);
  CHECK(set(1, 3, 0) == kBad);  // queries and keys of different sizes
  CHECK(set(1, 3, 3) == 0);
  const int extents[] = {2, 1, 1, 3}, lengths[] = {3};
  CHECK(Cudnn().Call("cudnnSetSeqDataDescriptor", run.data[0], CUDNN_DATA_FLOAT, 4,
                     static_cast<const int*>(extents), static_cast<const cudnnSeqDataAxis_t*>(c.axes.data()),
                     size_t{1}, static_cast<const int*>(lengths), kNowhere) == kBad);  // longer than the data
}
