// One rank as a process: nccl_rank RANKS RANK ID cases|wait|stay|quit|fault|other. ID: the unique id, or "-":
// it makes one and prints it. `cases` prints a line for each case; `wait` takes part in a reduction that not
// all ranks come to, or in which one has a bad address (`fault`) or another count (`other`), and prints how
// it ends; `stay` joins, prints "joined" and sleeps; `quit` joins, and ends without a word.
#include <unistd.h>

#include <string_view>

#include "tests/libraries/nccl_case.h"

using namespace ptx2cpu;
using namespace ptx2cpu::nccl_case;

namespace {

int Wait(Rank& rank, std::string_view mode) {
  constexpr size_t kCount = 100000;
  std::vector<float> values(kCount, 1), sums(kCount);
  const void* const bad = reinterpret_cast<const void*>(uintptr_t{16});
  rank.nccl.Call("ncclAllReduce", mode == "fault" ? bad : static_cast<const void*>(values.data()),
                 static_cast<void*>(sums.data()), kCount - (mode == "other" ? 1 : 0), ncclFloat32, ncclSum,
                 rank.comm, rank.stream);
  const int error = cudart::cudaStreamSynchronize(rank.stream);
  ncclResult_t state = ncclSuccess;
  rank.nccl.Call("ncclCommGetAsyncError", rank.comm, &state);
  std::printf("cuda %s nccl %d\n", error == 0 ? "success" : "error", state);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 5) return 2;
  const Nccl nccl;
  Rank rank{.nccl = nccl};
  rank.ranks = std::atoi(arguments[1]), rank.rank = std::atoi(arguments[2]);
  const std::string_view mode = arguments[4];
  ncclUniqueId id{};
  if (std::string_view(arguments[3]) == "-") {
    rank.Check("ncclGetUniqueId", nccl.Call("ncclGetUniqueId", &id));
    std::printf("id %s\n", id.internal);
    std::fflush(stdout);
  } else {
    std::snprintf(id.internal, sizeof id.internal, "%s", arguments[3]);
  }
  rank.Check("ncclCommInitRank", nccl.Call("ncclCommInitRank", &rank.comm, rank.ranks, id, rank.rank));
  if (rank.comm == nullptr || mode == "quit") std::_Exit(rank.failures);
  if (mode == "wait" || mode == "fault" || mode == "other") return Wait(rank, mode);
  if (mode == "stay") {
    std::puts("joined");
    std::fflush(stdout);
    for (;;) pause();
  }
  rank.All();
  rank.Check("ncclCommDestroy", nccl.Call("ncclCommDestroy", rank.comm));
  for (const auto& [name, bytes] : rank.results)
    std::printf("%s: %016llx\n", name.c_str(), static_cast<unsigned long long>(Fnv1a(bytes)));
  return rank.failures != 0;
}
