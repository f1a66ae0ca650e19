// What a launch costs: test_runtime "[.stream-benchmark]". Microseconds; medians over batches.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <vector>

#include "tests/runtime/stream_kernel.h"

using namespace ptx2cpu::rt;
using namespace ptx2cpu::test;

namespace {

using Clock = std::chrono::steady_clock;

void Empty(ptx2cpu_block*) {}
const ptx2cpu_kernel kEmpty = HandMade("empty", Empty, 8);

double Microseconds(Clock::time_point from) {
  return std::chrono::duration<double, std::micro>(Clock::now() - from).count();
}

double Median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

template <typename Body>
double MedianOf(int count, Body body) {
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    const auto start = Clock::now();
    body();
    times.push_back(Microseconds(start));
  }
  return Median(std::move(times));
}

void Measure(const char* name, StreamGroup& group, Stream& stream) {
  const uint64_t parameter = 0;
  const double whole = MedianOf(200, [&] {
    for (int i = 0; i < 1000; ++i) stream.Submit(KernelOf(kEmpty, parameter));
    stream.Synchronize();
  });
  const auto start = Clock::now();
  for (int i = 0; i < 300000; ++i) stream.Submit(KernelOf(kEmpty, parameter));
  stream.Synchronize();
  const double steady = Microseconds(start) / 300000;
  std::vector<double> single;
  for (int i = 0; i < 200; ++i) {
    for (int k = 0; k < 100; ++k) {
      const auto start = Clock::now();
      stream.Submit(KernelOf(kEmpty, parameter));
      single.push_back(Microseconds(start));
    }
    stream.Synchronize();
  }
  const double both = MedianOf(20000, [&] {
    stream.Submit(KernelOf(kEmpty, parameter));
    stream.Synchronize();
  });
  std::printf(
      "%-36s launch to done, pipelined %.3f us, 300,000 in a row %.3f us; the call alone %.3f us; launch and "
      "synchronise %.3f us\n",
      name, whole / 1000, steady, Median(std::move(single)), both);
}

}  // namespace

TEST_CASE("benchmark of streams", "[.stream-benchmark]") {
  StreamGroup group;
  std::printf("pool of %u\n", ThreadPool::Get().size());
  const auto lone = group.NewStream(StreamKind::kNonBlocking);
  Measure("one stream, non-blocking", group, *lone);
  const auto blocking = group.NewStream(StreamKind::kBlocking);
  Measure("one stream, blocking", group, *blocking);
  Measure("legacy default stream", group, group.legacy());
  std::vector<std::shared_ptr<Stream>> streams;
  for (int i = 0; i < 1000; ++i) {
    streams.push_back(group.NewStream(StreamKind::kBlocking));
    streams.back()->Submit(KernelOf(kEmpty, uint64_t{0}));
  }
  group.Synchronize();
  Measure("one of 1001 blocking streams", group, *blocking);
  Measure("legacy beside 1001 blocking streams", group, group.legacy());
  const double round = MedianOf(50, [&] {
    for (const auto& stream : streams) stream->Submit(KernelOf(kEmpty, uint64_t{0}));
    group.Synchronize();
  });
  std::printf("a launch on each of 1000 streams, and wait for all: %.3f us per launch\n", round / 1000);

  for (const uint32_t blocks : {1u, 1000000u}) {
    const double grid = MedianOf(20, [&] {
      lone->Submit(KernelOf(kEmpty, uint64_t{0}, blocks));
      lone->Synchronize();
    });
    std::printf("grid of %u empty blocks: %.1f us, %.2f ns per block\n", blocks, grid, grid * 1000 / blocks);
  }
  auto steps = std::make_shared<std::vector<Work>>();
  for (int i = 0; i < 100; ++i) steps->emplace_back(KernelOf(kEmpty, uint64_t{0}));
  const double graph = MedianOf(1000, [&] {
    lone->Submit(SequenceWork{steps});
    lone->Synchronize();
  });
  std::printf("sequence of 100 empty kernels, launch and synchronise: %.2f us, %.3f us per node\n", graph,
              graph / 100);
}
