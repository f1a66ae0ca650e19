// Patterns between a kernel and a thread of the host that uses std::atomic, each side playing each part.
#include <catch2/catch.hpp>

#include "tests/litmus/patterns.h"

using namespace ptx2cpu;
using namespace ptx2cpu::litmus;

namespace {

using Word = std::atomic_ref<uint32_t>;
constexpr auto kRelaxed = std::memory_order_relaxed, kAcquire = std::memory_order_acquire,
               kRelease = std::memory_order_release, kAcqRel = std::memory_order_acq_rel,
               kSeqCst = std::memory_order_seq_cst;

void Sends(Word x, Word y, Outcome&) {
  x.store(1, kRelaxed);
  y.store(1, kRelease);
}
void Receives(Word x, Word y, Outcome& result) {
  result[0] = y.load(kAcquire);
  result[1] = x.load(kRelaxed);
}
// Atomics of the host and of the kernel on the same words.
void SendsByAddition(Word x, Word y, Outcome&) {
  x.fetch_add(1, kRelaxed);
  y.fetch_add(1, kAcqRel);
}
void ReceivesByAddition(Word x, Word y, Outcome& result) {
  result[0] = y.fetch_add(0, kAcqRel);
  result[1] = x.fetch_add(0, kRelaxed);
}
template <int kResult>
void StoresThenLoads(Word mine, Word other, Outcome& result) {
  mine.store(1, kRelaxed);
  std::atomic_thread_fence(kSeqCst);
  result[kResult] = other.load(kRelaxed);
}
template <int kResult>
void LoadsThenStores(Word from, Word to, Outcome& result) {
  result[kResult] = from.load(kAcquire);
  to.store(1, kRelease);
}
void WritesTwice(Word x, Word, Outcome&) {
  x.store(1, kRelaxed);
  x.store(2, kRelaxed);
}
void ReadsTwice(Word x, Word, Outcome& result) {
  result[0] = x.load(kRelaxed);
  result[1] = x.load(kRelaxed);
}

struct Pair {
  const char* pattern;
  HostRole first, second;  // in place of roles 0 and 1
};

HostRole Swapped(HostRole role) {
  return [role = std::move(role)](Word x, Word y, Outcome& result) { role(y, x, result); };
}

std::vector<Pair> Pairs() {
  std::vector<Pair> pairs{{"MP atom.acq_rel", SendsByAddition, ReceivesByAddition},
                          {"CoRR relaxed", WritesTwice, ReadsTwice},
                          {"CoRR volatile", WritesTwice, ReadsTwice}};
  for (const char* name :
       {"MP fence.acq_rel", "MP st.release ld.acquire", "MP weak data", "MP volatile membar",
        "MP atom.release atom.acquire", "MP red.release cas.acquire"}) {
    pairs.push_back({name, Sends, Receives});
  }
  for (const char* name : {"SB fence.sc", "SB volatile membar", "SB red fence.sc"}) {
    pairs.push_back({name, StoresThenLoads<0>, Swapped(StoresThenLoads<1>)});
  }
  for (const char* name : {"LB fence.acq_rel", "LB ld.acquire"}) {
    pairs.push_back({name, LoadsThenStores<0>, Swapped(LoadsThenStores<1>)});
  }
  return pairs;
}

}  // namespace

TEST_CASE("litmus: kernel and host") {
  for (const Pair& pair : Pairs()) {
    for (const uint32_t device : {0u, 1u}) {
      INFO(pair.pattern << ", kernel in part " << device);
      auto tally = RunWithHost(Pattern(pair.pattern), {.scope = Scope::kSys, .times = Times(2048)}, device,
                               device == 0 ? pair.second : pair.first);
      if (!tally) FAIL(tally.error().Render());
      INFO(tally->Text());
      CHECK(tally->forbidden == 0);
    }
  }
}
