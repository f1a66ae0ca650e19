// What each rank of the tests of NCCL does, as a thread of the test or as a process of its own: all
// collectives with elements that depend on the rank. The results are bytes by the name of the case.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "cudart_api.h"
#include "runtime/cuda/abi/nccl_types.h"
#include "runtime/cuda/libraries/core/fp8.h"

namespace ptx2cpu::nccl_case {

using namespace cuda;

// The library, opened by its soname.
class Nccl {
 public:
  Nccl() : handle_(dlopen(PTX2CPU_BINARY_DIR "/lib/ptx2cpu/libnccl.so.2", RTLD_NOW | RTLD_LOCAL)) {}
  // The arguments must be passed as the function's parameters are, as a C program passes them.
  template <typename Result = ncclResult_t, typename... Args>
  __attribute__((no_sanitize("function"))) Result Call(const char* name, Args... args) const {
    void* const function = handle_ == nullptr ? nullptr : dlsym(handle_, name);
    if (function == nullptr) {
      std::fprintf(stderr, "no %s\n", name);
      std::abort();
    }
    return reinterpret_cast<Result (*)(Args...)>(function)(args...);
  }

 private:
  void* const handle_;
};

struct TypeCase {
  ncclDataType_t type;
  size_t bytes;
  bool is_signed;
};
inline constexpr TypeCase kTypes[] = {
    {ncclInt8, 1, true},    {ncclUint8, 1, false},   {ncclInt32, 4, true},      {ncclUint32, 4, false},
    {ncclInt64, 8, true},   {ncclUint64, 8, false},  {ncclFloat16, 2, true},    {ncclFloat32, 4, true},
    {ncclFloat64, 8, true}, {ncclBfloat16, 2, true}, {ncclFloat8e4m3, 1, true}, {ncclFloat8e5m2, 1, true},
};
// Elements of 8 bits have no average and no scaled sum (ncclNumOps: the first that is made).
inline bool Takes(const TypeCase& type, int op) {
  return (type.type != ncclFloat8e4m3 && type.type != ncclFloat8e5m2) || (op != ncclAvg && op != ncclNumOps);
}
inline bool IsInteger(ncclDataType_t type) { return type <= ncclUint64; }

template <typename T>
void Put(double value, std::byte* to) {
  const auto typed = static_cast<T>(value);
  std::memcpy(to, &typed, sizeof typed);
}
template <typename T>
void PutNarrow(double value, std::byte* to) {
  T typed;
  libraries::FromFloat(static_cast<float>(value), typed);
  std::memcpy(to, &typed, sizeof typed);
}
// An element of a type that holds the value exactly.
inline std::vector<std::byte> Element(ncclDataType_t type, double value) {
  using Function = void (*)(double, std::byte*);
  constexpr Function kPut[] = {Put<int8_t>,
                               Put<uint8_t>,
                               Put<int32_t>,
                               Put<uint32_t>,
                               Put<int64_t>,
                               Put<uint64_t>,
                               PutNarrow<__half>,
                               Put<float>,
                               Put<double>,
                               PutNarrow<__nv_bfloat16>,
                               PutNarrow<libraries::Fp8E4m3>,
                               PutNarrow<libraries::Fp8E5m2>};
  std::vector<std::byte> bytes(kTypes[type].bytes);
  kPut[type](value, bytes.data());
  return bytes;
}

// A few small integers, so that every type holds every sum and product of four of them.
inline double SmallValue(const TypeCase& type, int rank, size_t index) {
  const auto value = static_cast<int>((index * 7 + static_cast<size_t>(rank) * 3) % 3);
  return type.is_signed && (index + static_cast<size_t>(rank)) % 5 == 0 ? -value : value;
}
// Any float between -1 and 1: sums depend on their order.
inline float AnyValue(int rank, size_t index) {
  uint64_t x = (index + 1) * 0x9e3779b97f4a7c15 ^ static_cast<uint64_t>(rank + 1) * 0xbf58476d1ce4e5b9;
  x ^= x >> 29, x *= 0x94d049bb133111eb, x ^= x >> 32;
  return static_cast<float>(static_cast<double>(x >> 11) * 0x1p-52 - 1);
}
inline std::vector<float> AnyValues(int rank, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = AnyValue(rank, i);
  return values;
}

using Results = std::map<std::string, std::vector<std::byte>>;

inline constexpr size_t kSmallCount = 1001, kLargeCount = 300001, kPartCount = 70001;
inline constexpr double kFactor = 2;

struct Rank {
  const Nccl& nccl;
  ncclComm_t comm = nullptr;
  int rank = 0, ranks = 1;
  cudaStream_t stream = nullptr;
  Results results = {};
  int failures = 0;

  void Check(const char* what, int result) {
    if (result == 0) return;
    std::fprintf(stderr, "rank %d: %s: %d\n", rank, what, result);
    ++failures;
  }
  template <typename T>
  void Keep(const std::string& name, const std::vector<T>& values) {
    Check("cudaStreamSynchronize", cudart::cudaStreamSynchronize(stream));
    const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
    results[name] = {bytes, bytes + values.size() * sizeof(T)};
  }

  // The name of a reduction's case: "reduce type number".
  static std::string NameOf(const TypeCase& type, int op) {
    return "reduce " + std::to_string(type.type) + " " + std::to_string(op);
  }
  void ReduceTypes() {
    for (const TypeCase& type : kTypes) {
      std::vector<std::byte> send;
      for (size_t i = 0; i < kSmallCount; ++i) {
        const auto element = Element(type.type, SmallValue(type, rank, i));
        send.insert(send.end(), element.begin(), element.end());
      }
      for (int op = ncclSum; op <= ncclNumOps; ++op) {
        if (!Takes(type, op)) continue;
        auto reduction = static_cast<ncclRedOp_t>(op);
        auto factor = Element(type.type, kFactor);
        if (op == ncclNumOps)
          Check("factor", nccl.Call("ncclRedOpCreatePreMulSum", &reduction, static_cast<void*>(factor.data()),
                                    type.type, ncclScalarHostImmediate, comm));
        std::vector<std::byte> receive(send.size());
        Check("ncclAllReduce",
              nccl.Call("ncclAllReduce", static_cast<const void*>(send.data()),
                        static_cast<void*>(receive.data()), kSmallCount, type.type, reduction, comm, stream));
        Keep(NameOf(type, op), receive);
        if (op == ncclNumOps) Check("destroy", nccl.Call("ncclRedOpDestroy", reduction, comm));
      }
    }
  }

  void Large() {
    const std::vector<float> send = AnyValues(rank, kLargeCount);
    std::vector<float> receive(kLargeCount), in_place = send;
    Check("sum",
          nccl.Call("ncclAllReduce", static_cast<const void*>(send.data()),
                    static_cast<void*>(receive.data()), kLargeCount, ncclFloat32, ncclSum, comm, stream));
    Check("in place",
          nccl.Call("ncclAllReduce", static_cast<const void*>(in_place.data()),
                    static_cast<void*>(in_place.data()), kLargeCount, ncclFloat32, ncclSum, comm, stream));
    Keep("large", receive);
    Keep("large in place", in_place);
    std::vector<float> root(kLargeCount);
    Check("reduce",
          nccl.Call("ncclReduce", static_cast<const void*>(send.data()), static_cast<void*>(root.data()),
                    kLargeCount, ncclFloat32, ncclMax, ranks - 1, comm, stream));
    Keep("to root", root);
    // Each rank's elements times a factor of its own.
    auto scaled = static_cast<ncclRedOp_t>(ncclNumOps);
    float factor = static_cast<float>(rank) + 0.5f;
    Check("factor", nccl.Call("ncclRedOpCreatePreMulSum", &scaled, static_cast<void*>(&factor), ncclFloat32,
                              ncclScalarHostImmediate, comm));
    std::vector<float> sum(kLargeCount);
    Check("scaled",
          nccl.Call("ncclAllReduce", static_cast<const void*>(send.data()), static_cast<void*>(sum.data()),
                    kLargeCount, ncclFloat32, scaled, comm, stream));
    Keep("scaled", sum);
    Check("destroy", nccl.Call("ncclRedOpDestroy", scaled, comm));
  }

  void Parts() {
    const auto all = static_cast<size_t>(ranks) * kPartCount;
    const std::vector<float> wide = AnyValues(rank, all), narrow = AnyValues(rank, kPartCount);
    const auto move = [&](const char* name, const std::vector<float>& send, size_t receives, auto... root) {
      std::vector<float> receive(receives);
      Check(name, nccl.Call(name, static_cast<const void*>(send.data()), static_cast<void*>(receive.data()),
                            kPartCount, ncclFloat32, root..., comm, stream));
      Keep(name, receive);
    };
    move("ncclReduceScatter", wide, kPartCount, ncclSum);
    move("ncclAllGather", narrow, all);
    move("ncclAlltoAll", wide, all);
    move("ncclBroadcast", narrow, kPartCount, 1 % ranks);
    move("ncclGather", narrow, all, 0);
    move("ncclScatter", wide, kPartCount, ranks - 1);
    std::vector<float> buffer = narrow;
    Check("ncclBcast", nccl.Call("ncclBcast", static_cast<void*>(buffer.data()), kPartCount, ncclFloat32,
                                 ranks - 1, comm, stream));
    Keep("ncclBcast", buffer);
  }

  // To the next rank, from the one before, and to itself, two messages each, sides in any order.
  void Messages() {
    const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    const std::vector<float> first = AnyValues(rank, kLargeCount), second = AnyValues(rank + 100, 3);
    std::vector<float> got_first(kLargeCount), got_second(3), own(3);
    const auto send = [&](const std::vector<float>& values, int peer) {
      Check("ncclSend", nccl.Call("ncclSend", static_cast<const void*>(values.data()), values.size(),
                                  ncclFloat32, peer, comm, stream));
    };
    const auto receive = [&](std::vector<float>& values, int peer) {
      Check("ncclRecv", nccl.Call("ncclRecv", static_cast<void*>(values.data()), values.size(), ncclFloat32,
                                  peer, comm, stream));
    };
    Check("ncclGroupStart", nccl.Call("ncclGroupStart"));
    send(first, next), send(second, next);
    if (ranks > 1) send(second, rank);
    receive(got_first, before), receive(got_second, before);
    if (ranks > 1) receive(own, rank);
    Check("ncclGroupEnd", nccl.Call("ncclGroupEnd"));
    Keep("first message", got_first);
    Keep("second message", got_second);
    Keep("own message", own);
  }

  // Even and odd ranks, each in the opposite order.
  void Split() {
    ncclComm_t part = nullptr;
    Check("ncclCommSplit",
          nccl.Call("ncclCommSplit", comm, rank % 2, -rank, &part, static_cast<void*>(nullptr)));
    int part_rank = -1, count = 0;
    Check("rank", nccl.Call("ncclCommUserRank", part, &part_rank));
    Check("count", nccl.Call("ncclCommCount", part, &count));
    const std::vector<float> send = AnyValues(rank, kPartCount);
    std::vector<float> receive(kPartCount * static_cast<size_t>(count));
    Check("gather", nccl.Call("ncclAllGather", static_cast<const void*>(send.data()),
                              static_cast<void*>(receive.data()), kPartCount, ncclFloat32, part, stream));
    Keep("part", receive);
    Keep("place", std::vector<int>{part_rank, count});
    Check("ncclCommDestroy", nccl.Call("ncclCommDestroy", part));
  }

  void All() {
    ReduceTypes();
    Large();
    Parts();
    Messages();
    Split();
  }
};

inline uint64_t Fnv1a(const std::vector<std::byte>& data) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte byte : data) hash = (hash ^ static_cast<uint64_t>(byte)) * 0x100000001b3;
  return hash;
}

}  // namespace ptx2cpu::nccl_case
