// The kernels that are timed, with their shapes and data.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <memory>

#include "runtime/engine/background.h"
#include "tools/bench/versions/load.h"
#include "tools/bench/versions/versions.h"

namespace ptx2cpu::bench {

namespace {

constexpr double kRoundNanoseconds = 2e6;  // a round lasts at least this long
constexpr int kRounds = 25;

// The processor time of this thread: other load on the machine does not count.
double Now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

template <typename Function>
Result<double> Round(Function&& function, int repeats) {
  const double start = Now();
  for (int i = 0; i < repeats; ++i) TRY_STATUS(function());
  return (Now() - start) / repeats;
}

Result<Subject> ShuffleReduction(const std::string& directory, uint32_t per_thread) {
  constexpr uint32_t kBlocks = 64, kThreads = 256;
  const Kernel kernel = TRY(Load(directory, "reduction.fatbin", "reduce_shuffle"));
  auto in = Data<uint32_t>(size_t{kBlocks} * kThreads * per_thread);
  auto sums = std::make_shared<std::vector<uint32_t>>(kBlocks);
  auto tree = std::make_shared<std::vector<uint32_t>>(kBlocks),
       sum = std::make_shared<std::vector<uint32_t>>(kBlocks);
  Subject subject;
  subject.name = fmt::format("reduce_shuffle/{}_per_thread", per_thread);
  const auto count = static_cast<uint32_t>(in->size());
  subject.launch = [=] {
    return kernel.Launch({.grid = {kBlocks}, .block = {kThreads}, .max_workers = 1}, in->data(), sums->data(),
                         count);
  };
  subject.tree = [=] { ReduceTree(*in, *tree, kThreads); };
  subject.sum = [=] { ReduceSum(*in, *sum, kThreads); };
  subject.right = [=] { return *sums == *tree && *sums == *sum; };
  return subject;
}

Result<Subject> Saxpy(const std::string& directory) {
  constexpr uint32_t kCount = 100'003;
  const Kernel kernel = TRY(Load(directory, "saxpy.fatbin", "saxpy"));
  auto x = Data<float>(kCount), y = Data<float>(kCount);
  return Subject{.name = "saxpy", .launch = [=] {
                   return kernel.Launch({.grid = {(kCount + 255) / 256}, .block = {256}, .max_workers = 1},
                                        0.0001f, x->data(), y->data(), kCount);
                 }};
}

Result<Subject> Matmul(const std::string& directory) {
  constexpr int kSide = 128;
  const Kernel kernel = TRY(Load(directory, "matmul.fatbin", "matmul_tiled"));
  auto a = Data<float>(kSide * kSide), b = Data<float>(kSide * kSide), c = Data<float>(kSide * kSide);
  return Subject{.name = "matmul_tiled", .launch = [=] {
                   return kernel.Launch(
                       {.grid = {kSide / 16, kSide / 16}, .block = {16, 16}, .max_workers = 1}, a->data(),
                       b->data(), c->data(), kSide, kSide, kSide);
                 }};
}

Result<Subject> Stencil(const std::string& directory) {
  constexpr int kCount = 50'000;
  const Kernel kernel = TRY(Load(directory, "stencil.fatbin", "stencil_1d"));
  auto in = Data<float>(kCount), out = Data<float>(kCount);
  return Subject{
      .name = "stencil_1d", .launch = [=] {
        return kernel.Launch(
            {.grid = {(kCount + 255) / 256}, .block = {256}, .shared_bytes = 4 * (256 + 6), .max_workers = 1},
            in->data(), out->data(), kCount);
      }};
}

Result<Subject> Histogram(const std::string& directory) {
  constexpr uint32_t kCount = 100'000;
  const Kernel kernel = TRY(Load(directory, "histogram.fatbin", "histogram_shared"));
  auto samples = Data<uint8_t>(kCount);
  auto bins = std::make_shared<std::vector<uint32_t>>(256);
  return Subject{.name = "histogram_shared", .launch = [=] {
                   return kernel.Launch({.grid = {16}, .block = {256}, .max_workers = 1}, samples->data(),
                                        bins->data(), kCount);
                 }};
}

Result<Subject> BlockReduction(const std::string& directory) {
  constexpr uint32_t kBlocks = 128, kThreads = 256, kCount = kBlocks * kThreads;
  const Kernel kernel = TRY(Load(directory, "reduction.fatbin", "reduce_sequential"));
  auto in = Data<uint32_t>(kCount), sums = std::make_shared<std::vector<uint32_t>>(kBlocks);
  return Subject{
      .name = "reduce_sequential", .launch = [=] {
        return kernel.Launch(
            {.grid = {kBlocks}, .block = {kThreads}, .shared_bytes = 4 * kThreads, .max_workers = 1},
            in->data(), sums->data(), kCount);
      }};
}

}  // namespace

Result<std::vector<Subject>> LoadSubjects(const std::string& corpus_bin) {
  std::vector<Subject> subjects;
  for (const auto load : {Saxpy, Matmul, Stencil, Histogram, BlockReduction})
    subjects.push_back(TRY(load(corpus_bin)));
  for (const auto load : kWarpKernels) subjects.push_back(TRY(load(corpus_bin)));
  for (const uint32_t per_thread : {1u, 4u, 16u, 64u})
    subjects.push_back(TRY(ShuffleReduction(corpus_bin, per_thread)));
  return subjects;
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

Result<Timing> Measure(const Subject& subject) {
  std::vector<std::function<Status()>> functions{subject.launch};
  for (const auto& by_hand : {subject.tree, subject.sum}) {
    if (by_hand) {
      functions.push_back([by_hand] {
        by_hand();
        return Status();
      });
    }
  }
  std::vector<int> repeats;
  for (const auto& function : functions) {
    static_cast<void>(TRY(Round(function, 3)));  // code and data come into the caches
    rt::WaitForBackground();                     // the code for this block shape
    repeats.push_back(1 + static_cast<int>(kRoundNanoseconds / TRY(Round(function, 3))));
  }
  if (subject.right && !subject.right())
    return Fail(ErrorCode::kInternal, subject.name + ": the sums differ");
  std::vector<std::vector<double>> times(functions.size());
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < functions.size(); ++i) times[i].push_back(TRY(Round(functions[i], repeats[i])));
  }
  Timing timing{.name = subject.name, .nanoseconds = Median(times[0])};
  if (functions.size() == 3) timing.tree = Median(times[1]), timing.sum = Median(times[2]);
  return timing;
}

}  // namespace ptx2cpu::bench
