// NCCL: collectives against their definition, ranks as threads, groups, graphs, status.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <functional>
#include <thread>

#include "driver_api.h"
#include "tests/libraries/nccl_ranks.h"
#include "tools/api_table/api_table.h"

using namespace ptx2cpu;
using namespace ptx2cpu::nccl_case;

namespace {

double Defined(const TypeCase& type, int op, int ranks, size_t index) {
  double result = SmallValue(type, 0, index);
  if (op == ncclNumOps) result *= kFactor;
  for (int i = 1; i < ranks; ++i) {
    const double value = SmallValue(type, i, index);
    if (op == ncclProd) {
      result *= value;
    } else if (op == ncclMax) {
      result = std::max(result, value);
    } else if (op == ncclMin) {
      result = std::min(result, value);
    } else {
      result += op == ncclNumOps ? value * kFactor : value;
    }
  }
  if (op == ncclAvg) result /= ranks;
  return op == ncclAvg && IsInteger(type.type) ? std::trunc(result) : result;
}

template <typename T = float>
std::vector<T> ValuesOf(const Rank& rank, const std::string& name) {
  const std::vector<std::byte>& bytes = rank.results.at(name);
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace

TEST_CASE("nccl: every reduction of every type") {
  for (const int ranks : {1, 4}) {
    const auto all = OnThreads(ranks, [](Rank& rank) { rank.ReduceTypes(); });
    for (const TypeCase& type : kTypes) {
      for (int op = ncclSum; op <= ncclNumOps; ++op) {
        if (!Takes(type, op)) continue;
        std::vector<std::byte> expected;
        for (size_t i = 0; i < kSmallCount; ++i) {
          double value = Defined(type, op, ranks, i);
          const auto element = Element(type.type, value == 0 ? 0 : value);
          expected.insert(expected.end(), element.begin(), element.end());
        }
        // -0 is 0: a product's sign is not compared.
        const auto plain = [&](std::vector<std::byte> bytes) {
          const auto negative = Element(type.type, -0.0), zero = Element(type.type, 0);
          for (size_t i = 0; i < bytes.size(); i += type.bytes) {
            if (std::equal(negative.begin(), negative.end(), bytes.begin() + static_cast<ptrdiff_t>(i)))
              std::ranges::copy(zero, bytes.begin() + static_cast<ptrdiff_t>(i));
          }
          return bytes;
        };
        for (const Rank& rank : all) {
          INFO("type " << type.type << ", reduction " << op << ", rank " << rank.rank << " of " << ranks);
          CHECK(plain(rank.results.at(Rank::NameOf(type, op))) == expected);
        }
      }
    }
  }
}

TEST_CASE("nccl: collectives and messages move what they name, and sums have the order of the ranks") {
  constexpr int kRanks = 3;
  const bool network = GENERATE(false, true);
  INFO("network " << network);
  const Environment environment(network ? kNetwork : Variables{});
  const auto all =
      OnThreads(kRanks, [](Rank& rank) { rank.Large(), rank.Parts(), rank.Messages(), rank.Split(); });
  std::vector<std::vector<float>> wide;
  for (int i = 0; i < kRanks; ++i) wide.push_back(AnyValues(i, kRanks * kPartCount + kLargeCount));
  std::vector<float> sum(kLargeCount), largest(kLargeCount), scaled(kLargeCount);
  for (size_t i = 0; i < kLargeCount; ++i) {
    sum[i] = wide[0][i] + wide[1][i] + wide[2][i];
    largest[i] = std::max({wide[0][i], wide[1][i], wide[2][i]});
    const float first = wide[0][i] * 0.5f, second = wide[1][i] * 1.5f, third = wide[2][i] * 2.5f;
    scaled[i] = first + second + third;
  }
  const auto part = [&](int of, size_t number) {
    const auto begin = wide[static_cast<size_t>(of)].begin() + static_cast<ptrdiff_t>(number * kPartCount);
    return std::vector<float>(begin, begin + kPartCount);
  };
  const auto parts = [&](const std::vector<std::pair<int, size_t>>& list) {
    std::vector<float> values;
    for (const auto& [of, number] : list) {
      const std::vector<float> one = part(of, number);
      values.insert(values.end(), one.begin(), one.end());
    }
    return values;
  };
  for (const Rank& rank : all) {
    const auto own = static_cast<size_t>(rank.rank);
    INFO("rank " << own);
    CHECK(ValuesOf(rank, "large") == sum);
    CHECK(ValuesOf(rank, "large in place") == sum);
    CHECK(ValuesOf(rank, "to root") == (own == 2 ? largest : std::vector<float>(kLargeCount)));
    CHECK(ValuesOf(rank, "scaled") == scaled);
    std::vector<float> scattered = part(0, own);
    for (size_t i = 0; i < kPartCount; ++i) scattered[i] = scattered[i] + part(1, own)[i] + part(2, own)[i];
    CHECK(ValuesOf(rank, "ncclReduceScatter") == scattered);
    CHECK(ValuesOf(rank, "ncclAllGather") == parts({{0, 0}, {1, 0}, {2, 0}}));
    CHECK(ValuesOf(rank, "ncclAlltoAll") == parts({{0, own}, {1, own}, {2, own}}));
    CHECK(ValuesOf(rank, "ncclBroadcast") == part(1, 0));
    CHECK(ValuesOf(rank, "ncclBcast") == part(2, 0));
    CHECK(ValuesOf(rank, "ncclScatter") == part(2, own));
    CHECK(ValuesOf(rank, "ncclGather") ==
          (own == 0 ? parts({{0, 0}, {1, 0}, {2, 0}}) : std::vector<float>(kRanks * kPartCount)));
    const int before = (rank.rank + kRanks - 1) % kRanks;
    CHECK(ValuesOf(rank, "first message") == AnyValues(before, kLargeCount));
    CHECK(ValuesOf(rank, "second message") == AnyValues(before + 100, 3));
    CHECK(ValuesOf(rank, "own message") == AnyValues(rank.rank + 100, 3));
    CHECK(ValuesOf<int>(rank, "place") == (own == 1 ? std::vector{0, 1} : std::vector{own == 0 ? 1 : 0, 2}));
    CHECK(ValuesOf(rank, "part") == (own == 1 ? part(1, 0) : parts({{2, 0}, {0, 0}})));
  }
}

TEST_CASE("nccl: one thread with several communicators, in groups and in graphs") {
  constexpr int kRanks = 3;
  const bool network = GENERATE(false, true);
  INFO("network " << network);
  const Environment environment(network ? kNetwork : Variables{});
  ncclUniqueId id{};
  REQUIRE(Library().Call("ncclGetUniqueId", &id) == ncclSuccess);
  ncclComm_t comms[kRanks] = {};
  cudaStream_t streams[kRanks] = {};
  REQUIRE(Library().Call("ncclGroupStart") == ncclSuccess);
  for (int i = 0; i < kRanks; ++i) {
    REQUIRE(Library().Call("ncclCommInitRank", &comms[i], kRanks, id, i) == ncclSuccess);
    REQUIRE(cudart::cudaStreamCreate(&streams[i]) == cudaSuccess);
  }
  REQUIRE(Library().Call("ncclGroupEnd") == ncclSuccess);
  std::vector<int> values[kRanks];
  const auto add = [&](cudaStream_t shared) {
    REQUIRE(Library().Call("ncclGroupStart") == ncclSuccess);
    for (int i = 0; i < kRanks; ++i) {
      REQUIRE(Library().Call("ncclAllReduce", static_cast<const void*>(values[i].data()),
                             static_cast<void*>(values[i].data()), values[i].size(), ncclInt32, ncclSum,
                             comms[i], shared == nullptr ? streams[i] : shared) == ncclSuccess);
    }
    REQUIRE(Library().Call("ncclGroupEnd") == ncclSuccess);
  };
  const auto reset = [&] {
    for (int i = 0; i < kRanks; ++i) values[i] = {i + 1, 10 * i};
  };
  // Streams of their own, then one stream for all.
  for (const cudaStream_t shared : {cudaStream_t{}, streams[0]}) {
    reset();
    add(shared);
    add(shared);
    REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
    for (const auto& of_rank : values) CHECK(of_rank == std::vector{18, 90});
  }
  // Captured: each launch does it again.
  reset();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  REQUIRE(cudart::cudaStreamBeginCapture(streams[0], static_cast<cudaStreamCaptureMode>(0)) == cudaSuccess);
  add(streams[0]);
  REQUIRE(cudart::cudaStreamEndCapture(streams[0], &graph) == cudaSuccess);
  REQUIRE(cudart::cudaGraphInstantiateWithFlags(&exec, graph, 0) == cudaSuccess);
  CHECK(values[1] == std::vector{2, 10});
  for (int launch = 0; launch < 3; ++launch)
    REQUIRE(cudart::cudaGraphLaunch(exec, streams[1]) == cudaSuccess);
  REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
  for (const auto& of_rank : values) CHECK(of_rank == std::vector{54, 270});
  add(nullptr);  // and outside of the graph after it
  REQUIRE(cudart::cudaDeviceSynchronize() == cudaSuccess);
  CHECK(values[2] == std::vector{162, 810});
  REQUIRE(cudart::cudaGraphExecDestroy(exec) == cudaSuccess);
  REQUIRE(cudart::cudaGraphDestroy(graph) == cudaSuccess);
  for (int i = 0; i < kRanks; ++i) CHECK(Library().Call("ncclCommDestroy", comms[i]) == ncclSuccess);
}

TEST_CASE("nccl: a send waits for its receive on another stream; calls keep the program's order") {
  OnThreads(2, [](Rank& rank) {
    cudaStream_t other = nullptr;
    rank.Check("stream", cudart::cudaStreamCreate(&other));
    // Two streams, in the same order on both ranks, with a gate in front of the first.
    std::atomic<bool> open{false};
    const auto wait = [](void* flag) {
      while (!static_cast<std::atomic<bool>*>(flag)->load()) std::this_thread::yield();
    };
    rank.Check("gate", cudart::cudaLaunchHostFunc(rank.stream, wait, &open));
    std::vector<int> first{rank.rank + 1}, second{10};
    rank.Check("first", Library().Call("ncclAllReduce", static_cast<const void*>(first.data()),
                                       static_cast<void*>(first.data()), size_t{1}, ncclInt32, ncclSum,
                                       rank.comm, rank.stream));
    rank.Check("second", Library().Call("ncclAllReduce", static_cast<const void*>(second.data()),
                                        static_cast<void*>(second.data()), size_t{1}, ncclInt32, ncclProd,
                                        rank.comm, other));
    if (second[0] != 10 || cudart::cudaStreamQuery(other) != cudaErrorNotReady) ++rank.failures;
    open = true;
    rank.Check("one", cudart::cudaStreamSynchronize(other));
    rank.Check("other", cudart::cudaStreamSynchronize(rank.stream));
    if (first[0] != 3 || second[0] != 100) ++rank.failures;
    rank.Check("destroy", cudart::cudaStreamDestroy(other));
  });
}

TEST_CASE("nccl: an abort ends what waits") {
  const bool network = GENERATE(false, true);
  INFO("network " << network);
  const Environment environment(network ? kNetwork : Variables{});
  ncclUniqueId id{};
  REQUIRE(Library().Call("ncclGetUniqueId", &id) == ncclSuccess);
  ncclComm_t comms[2] = {};
  REQUIRE(Library().Call("ncclGroupStart") == ncclSuccess);
  for (int i = 0; i < 2; ++i) REQUIRE(Library().Call("ncclCommInitRank", &comms[i], 2, id, i) == ncclSuccess);
  REQUIRE(Library().Call("ncclGroupEnd") == ncclSuccess);
  cudaStream_t stream = nullptr;
  REQUIRE(cudart::cudaStreamCreate(&stream) == cudaSuccess);
  int value = 5;
  REQUIRE(Library().Call("ncclRecv", static_cast<void*>(&value), size_t{1}, ncclInt32, 1, comms[0], stream) ==
          ncclSuccess);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(cudart::cudaStreamQuery(stream) == cudaErrorNotReady);
  CHECK(Library().Call("ncclCommAbort", comms[0]) == ncclSuccess);
  CHECK(cudart::cudaStreamSynchronize(stream) == cudaSuccess);
  CHECK(value == 5);
  CHECK(Library().Call("ncclCommAbort", comms[1]) == ncclSuccess);
  REQUIRE(cudart::cudaStreamDestroy(stream) == cudaSuccess);
}

TEST_CASE("nccl: status of wrong arguments, and exports") {
  int version = 0;
  CHECK(Library().Call("ncclGetVersion", &version) == ncclSuccess);
  CHECK(version > 20000);
  ncclComm_t comm = nullptr;
  ncclUniqueId id{};
  CHECK(Library().Call("ncclCommInitRank", &comm, 2, id, 2) == ncclInvalidArgument);
  CHECK(Library().Call("ncclCommInitRank", &comm, 1, id, 0) == ncclInvalidArgument);  // not an id
  CHECK(Library().Call("ncclGroupEnd") == ncclInvalidUsage);
  const int twice[] = {0, 0};
  CHECK(Library().Call("ncclCommInitAll", &comm, 2, static_cast<const int*>(twice)) == ncclInvalidUsage);
  REQUIRE(Library().Call("ncclCommInitAll", &comm, 1, static_cast<const int*>(nullptr)) == ncclSuccess);
  float value = 3, result = 0;
  const auto reduce = [&](int type, int op) {
    return Library().Call("ncclAllReduce", static_cast<const void*>(&value), static_cast<void*>(&result),
                          size_t{1}, type, op, comm, cudaStream_t{});
  };
  CHECK(reduce(ncclNumTypes, ncclSum) == ncclInvalidArgument);
  CHECK(reduce(ncclFloat32, ncclNumOps) == ncclInvalidArgument);  // not made
  CHECK(Library().Call("ncclSend", static_cast<const void*>(&value), size_t{1}, ncclFloat32, 1, comm,
                       cudaStream_t{}) == ncclInvalidArgument);
  CHECK(std::string(Library().Call<const char*>("ncclGetLastError", comm)).starts_with("ncclSend: "));
  CHECK(reduce(ncclFloat32, ncclSum) == ncclSuccess);
  CHECK(cudart::cudaDeviceSynchronize() == cudaSuccess);
  CHECK(result == 3);
  CHECK(Library().Call("ncclCommDestroy", comm) == ncclSuccess);

  const auto table = api_table::Read(PTX2CPU_SOURCE_DIR "/runtime/cuda/libraries/nccl/nccl.api");
  REQUIRE(table);
  void* const library = dlopen(PTX2CPU_BINARY_DIR "/lib/ptx2cpu/libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  for (const api_table::Function& function : table->functions)
    CHECK(dlsym(library, function.name.c_str()) != nullptr);
}
