#include "tools/bench/suite/onednn.h"

#include <dlfcn.h>

#include <cstddef>
#include <initializer_list>

#include "tools/bench/suite/problem.h"

namespace ptx2cpu::suite {

namespace {

// Declarations of dnnl_types.h, version 2. Descriptors are structures of fewer than these bytes, which the
// library fills.
struct alignas(16) Descriptor {
  std::byte bytes[16384];
};
struct ExecuteArgument {
  int which;
  void* memory;
};
constexpr int kProcessor = 1, kInOrder = 1;
constexpr int kSource = 1, kWeights = 33, kDestination = 17;
enum DataType : int { kNone, kF16, kBF16, kF32, kS32, kS8 };

// Functions of dnnl.h: FUNCTION(name, parameters). All return a status, 0 for success.
#define FUNCTIONS(FUNCTION)                                                                           \
  FUNCTION(engine_create, (void**, int, size_t))                                                      \
  FUNCTION(stream_create, (void**, void*, unsigned))                                                  \
  FUNCTION(stream_wait, (void*))                                                                      \
  FUNCTION(memory_desc_init_by_strides, (Descriptor*, int, const int64_t*, int, const int64_t*))      \
  FUNCTION(matmul_desc_init,                                                                          \
           (Descriptor*, const Descriptor*, const Descriptor*, const Descriptor*, const Descriptor*)) \
  FUNCTION(primitive_desc_create, (void**, const Descriptor*, const void*, void*, const void*))       \
  FUNCTION(primitive_create, (void**, const void*))                                                   \
  FUNCTION(memory_create, (void**, const Descriptor*, void*, void*))                                  \
  FUNCTION(primitive_execute, (const void*, void*, int, const ExecuteArgument*))

int TypeOf(ElementType type) {
  switch (type) {
    case ElementType::kF16:
      return kF16;
    case ElementType::kBF16:
      return kBF16;
    case ElementType::kTF32:
      return kF32;
    case ElementType::kS8:
      return kS8;
  }
  return kNone;
}

}  // namespace

// Open until the process ends, as are engine and stream.
struct OneDnn::State {
#define FUNCTION(name, parameters) int(*name) parameters = nullptr;
  FUNCTIONS(FUNCTION)
#undef FUNCTION
  void (*set_threads)(int) = nullptr;  // of the OpenMP library that it uses
  void *engine = nullptr, *stream = nullptr;
};

Result<std::shared_ptr<const OneDnn>> OneDnn::Open() {
  void* library = dlopen("libdnnl.so.2", RTLD_NOW);
  if (library == nullptr) return Fail(ErrorCode::kUsage, "oneDNN (libdnnl.so.2) is not installed");
  auto state = std::make_shared<State>();
  bool complete = true;
  auto find = [&]<typename F>(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(library, name));
    complete &= function != nullptr;
  };
#define FUNCTION(name, parameters) find(state->name, "dnnl_" #name);
  FUNCTIONS(FUNCTION)
#undef FUNCTION
  state->set_threads = reinterpret_cast<void (*)(int)>(dlsym(library, "omp_set_num_threads"));
  if (!complete || state->engine_create(&state->engine, kProcessor, 0) != 0 ||
      state->stream_create(&state->stream, state->engine, kInOrder) != 0)
    return Fail(ErrorCode::kUsage, "libdnnl.so.2 is not oneDNN of version 2");
  return std::make_shared<const OneDnn>(std::move(state));
}

Result<std::function<Status()>> OneDnn::Product(const Problem& problem, unsigned threads) const {
  const MatrixProduct& product = *problem.product;
  const State& dnnl = *state_;
  const int64_t n = product.side, sides[] = {n, n}, rows[] = {n, 1}, columns[] = {1, n};
  const int type = TypeOf(product.type), of_sum = product.type == ElementType::kS8 ? kS32 : kF32;
  auto storage = std::make_unique<Descriptor[]>(4);
  Descriptor *a = &storage[0], *b = &storage[1], *c = &storage[2], *operation = &storage[3];
  void *primitive_descriptor = nullptr, *primitive = nullptr, *memory[3] = {};
  auto address = [&](Argument argument) { return Data(problem.data).Get<void*>(argument); };
  if (dnnl.set_threads != nullptr) dnnl.set_threads(static_cast<int>(threads));
  // The steps in order, until one fails.
  const bool made =
      dnnl.memory_desc_init_by_strides(a, 2, sides, type, rows) == 0 &&
      dnnl.memory_desc_init_by_strides(b, 2, sides, type, columns) == 0 &&
      dnnl.memory_desc_init_by_strides(c, 2, sides, of_sum, rows) == 0 &&
      dnnl.matmul_desc_init(operation, a, b, nullptr, c) == 0 &&
      dnnl.primitive_desc_create(&primitive_descriptor, operation, nullptr, dnnl.engine, nullptr) == 0 &&
      dnnl.primitive_create(&primitive, primitive_descriptor) == 0 &&
      dnnl.memory_create(&memory[0], a, dnnl.engine, address(product.a)) == 0 &&
      dnnl.memory_create(&memory[1], b, dnnl.engine, address(product.b)) == 0 &&
      dnnl.memory_create(&memory[2], c, dnnl.engine, address(product.c)) == 0;
  if (!made) return Fail(ErrorCode::kUnsupported, "oneDNN has no such product on this machine");
  return std::function<Status()>([state = state_, primitive, threads, from_a = memory[0], from_b = memory[1],
                                  to = memory[2]]() -> Status {
    if (state->set_threads != nullptr) state->set_threads(static_cast<int>(threads));
    const ExecuteArgument arguments[] = {{kSource, from_a}, {kWeights, from_b}, {kDestination, to}};
    if (state->primitive_execute(primitive, state->stream, 3, arguments) != 0 ||
        state->stream_wait(state->stream) != 0)
      return Fail(ErrorCode::kInternal, "oneDNN's product failed");
    return {};
  });
}

}  // namespace ptx2cpu::suite
