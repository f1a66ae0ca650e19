// Names as usual in the literature: MP message passing, SB store buffering, LB load buffering, IRIW
// independent reads of independent writes, CoRR coherence of two reads, WRC write-to-read causality.
#include "tests/litmus/patterns.h"

#include <catch2/catch.hpp>

namespace ptx2cpu::litmus {

namespace {

bool SawFlagOnly(const Outcome& o) { return o[0] == 1 && o[1] == 0; }
bool BothMissed(const Outcome& o) { return o[0] == 0 && o[1] == 0; }
bool BothSaw(const Outcome& o) { return o[0] == 1 && o[1] == 1; }
bool Backwards(const Outcome& o) { return o[0] > o[1]; }
bool ReadersDisagree(const Outcome& o) { return o[0] == 1 && o[1] == 0 && o[2] == 1 && o[3] == 0; }
bool LostCause(const Outcome& o) { return o[0] == 1 && o[1] == 1 && o[2] == 0; }
bool OutOfThinAir(const Outcome& o) { return o[0] != 0 || o[1] != 0; }
bool NotThatOfTheMessage(const Outcome& o) { return o[0] != 1 || o[1] != 7; }

std::vector<Litmus> MessagePassing() {
  return {
      {"MP fence.acq_rel",
       {{"st.relaxed.$S.global.u32 [%x], 1; fence.acq_rel.$S; st.relaxed.$S.global.u32 [%y], 1;"},
        {"ld.relaxed.$S.global.u32 %r0, [%y]; fence.acq_rel.$S; ld.relaxed.$S.global.u32 %r1, [%x];",
         {0, 1}}},
       SawFlagOnly},
      {"MP st.release ld.acquire",
       {{"st.relaxed.$S.global.u32 [%x], 1; st.release.$S.global.u32 [%y], 1;"},
        {"ld.acquire.$S.global.u32 %r0, [%y]; ld.relaxed.$S.global.u32 %r1, [%x];", {0, 1}}},
       SawFlagOnly},
      // The message itself by weak accesses, read only if the flag shows that it is there.
      {"MP weak data",
       {{"st.global.u32 [%x], 1; st.release.$S.global.u32 [%y], 1;"},
        {"ld.acquire.$S.global.u32 %r0, [%y]; mov.u32 %r1, 1; setp.ne.u32 %q, %r0, 0; @%q ld.global.u32 %r1, "
         "[%x];",
         {0, 1}}},
       SawFlagOnly},
      // Waits for the message; so both threads must get on, and every time shows the rule at work.
      {"MP wait",
       {{"st.global.u32 [%x], 7; st.release.$S.global.u32 [%y], 1;"},
        {"SPIN$R: ld.acquire.$S.global.u32 %r0, [%y]; setp.eq.u32 %q, %r0, 0; @%q bra SPIN$R; ld.global.u32 "
         "%r1, [%x];",
         {0, 1}}},
       NotThatOfTheMessage},
      {"MP volatile membar",
       {{"st.volatile.global.u32 [%x], 1; membar.$M; st.volatile.global.u32 [%y], 1;"},
        {"ld.volatile.global.u32 %r0, [%y]; membar.$M; ld.volatile.global.u32 %r1, [%x];", {0, 1}}},
       SawFlagOnly},
      {"MP atom.release atom.acquire",
       {{"st.relaxed.$S.global.u32 [%x], 1; atom.release.$S.global.exch.b32 %t, [%y], 1;"},
        {"atom.acquire.$S.global.or.b32 %r0, [%y], 0; ld.relaxed.$S.global.u32 %r1, [%x];", {0, 1}}},
       SawFlagOnly},
      {"MP red.release cas.acquire",
       {{"st.relaxed.$S.global.u32 [%x], 1; red.release.$S.global.add.u32 [%y], 1;"},
        {"atom.acquire.$S.global.cas.b32 %r0, [%y], 5, 6; ld.relaxed.$S.global.u32 %r1, [%x];", {0, 1}}},
       SawFlagOnly},
      {"MP atom.acq_rel",
       {{"red.relaxed.$S.global.add.u32 [%x], 1; atom.acq_rel.$S.global.inc.u32 %t, [%y], 1;"},
        {"atom.acq_rel.$S.global.max.u32 %r0, [%y], 0; ld.relaxed.$S.global.u32 %r1, [%x];", {0, 1}}},
       SawFlagOnly},
  };
}

std::vector<Litmus> Buffering() {
  return {
      {"SB fence.sc",
       {{"st.relaxed.$S.global.u32 [%x], 1; fence.sc.$S; ld.relaxed.$S.global.u32 %r0, [%y];", {0}},
        {"st.relaxed.$S.global.u32 [%y], 1; fence.sc.$S; ld.relaxed.$S.global.u32 %r1, [%x];", {1}}},
       BothMissed},
      {"SB volatile membar",
       {{"st.volatile.global.u32 [%x], 1; membar.$M; ld.volatile.global.u32 %r0, [%y];", {0}},
        {"st.volatile.global.u32 [%y], 1; membar.$M; ld.volatile.global.u32 %r1, [%x];", {1}}},
       BothMissed},
      {"SB red fence.sc",
       {{"red.relaxed.$S.global.add.u32 [%x], 1; fence.sc.$S; ld.relaxed.$S.global.u32 %r0, [%y];", {0}},
        {"red.relaxed.$S.global.or.b32 [%y], 1; fence.sc.$S; atom.relaxed.$S.global.add.u32 %r1, [%x], 0;",
         {1}}},
       BothMissed},
      {"LB fence.acq_rel",
       {{"ld.relaxed.$S.global.u32 %r0, [%x]; fence.acq_rel.$S; st.relaxed.$S.global.u32 [%y], 1;", {0}},
        {"ld.relaxed.$S.global.u32 %r1, [%y]; fence.acq_rel.$S; st.relaxed.$S.global.u32 [%x], 1;", {1}}},
       BothSaw},
      {"LB ld.acquire",
       {{"ld.acquire.$S.global.u32 %r0, [%x]; st.relaxed.$S.global.u32 [%y], 1;", {0}},
        {"ld.relaxed.$S.global.u32 %r1, [%y]; st.release.$S.global.u32 [%x], 1;", {1}}},
       BothSaw},
      {"LB data",
       {{"ld.relaxed.$S.global.u32 %r0, [%x]; st.relaxed.$S.global.u32 [%y], %r0;", {0}},
        {"ld.relaxed.$S.global.u32 %r1, [%y]; st.relaxed.$S.global.u32 [%x], %r1;", {1}}},
       OutOfThinAir},
  };
}

std::vector<Litmus> Coherence() {
  const Role reads_x_y{"ld.relaxed.$S.global.u32 %r0, [%x]; fence.sc.$S; ld.relaxed.$S.global.u32 %r1, [%y];",
                       {0, 1}};
  const Role reads_y_x{"ld.relaxed.$S.global.u32 %r2, [%y]; fence.sc.$S; ld.relaxed.$S.global.u32 %r3, [%x];",
                       {2, 3}};
  return {
      {"CoRR relaxed",
       {{"st.relaxed.$S.global.u32 [%x], 1; st.relaxed.$S.global.u32 [%x], 2;"},
        {"ld.relaxed.$S.global.u32 %r0, [%x]; ld.relaxed.$S.global.u32 %r1, [%x];", {0, 1}}},
       Backwards},
      {"CoRR volatile",
       {{"st.volatile.global.u32 [%x], 1; st.volatile.global.u32 [%x], 2;"},
        {"ld.volatile.global.u32 %r0, [%x]; ld.volatile.global.u32 %r1, [%x];", {0, 1}}},
       Backwards},
      {"CoRR atom",
       {{"red.relaxed.$S.global.add.u32 [%x], 1; red.relaxed.$S.global.add.u32 [%x], 1;"},
        {"ld.relaxed.$S.global.u32 %r0, [%x]; atom.relaxed.$S.global.add.u32 %r1, [%x], 0;", {0, 1}}},
       Backwards},
      {"WRC",
       {{"st.relaxed.$S.global.u32 [%x], 1;"},
        {"ld.relaxed.$S.global.u32 %r0, [%x]; fence.acq_rel.$S; st.relaxed.$S.global.u32 [%y], 1;", {0}},
        {"ld.acquire.$S.global.u32 %r1, [%y]; ld.relaxed.$S.global.u32 %r2, [%x];", {1, 2}}},
       LostCause},
      {"IRIW fence.sc",
       {{"st.relaxed.$S.global.u32 [%x], 1;"}, {"st.relaxed.$S.global.u32 [%y], 1;"}, reads_x_y, reads_y_x},
       ReadersDisagree},
  };
}

// No word of x or y: what all times and threads add up together must be exact.
std::vector<Litmus> Sums() {
  const Role lock{
      "TRY$R: atom.acquire.$S.global.cas.b32 %t, [%lock], 0, 1; setp.ne.u32 %q, %t, 0; @%q bra TRY$R;"
      "ld.global.u32 %u, [%total]; add.u32 %u, %u, 1; st.global.u32 [%total], %u;"
      "st.release.$S.global.u32 [%lock], 0; red.relaxed.$S.global.add.u32 [%sum], 1;"};
  const Role exchange{
      "TRY$R: atom.relaxed.$S.global.exch.b32 %t, [%lock], 1; setp.ne.u32 %q, %t, 0; @%q bra TRY$R; "
      "fence.acq_rel.$S;"
      "ld.global.u32 %u, [%total]; add.u32 %u, %u, 1; st.global.u32 [%total], %u;"
      "fence.acq_rel.$S; st.relaxed.$S.global.u32 [%lock], 0; atom.acq_rel.$S.global.add.u32 %t, [%sum], 1;"};
  const auto nothing = [](const Outcome& o) { return o != Outcome{}; };
  return {{"lock", {lock, lock}, nothing},
          {"lock by exchange and fences", {exchange, lock, exchange}, nothing}};
}

}  // namespace

const std::vector<Litmus>& Patterns() {
  static const std::vector<Litmus> patterns = [] {
    std::vector<Litmus> all;
    for (const auto& make : {MessagePassing, Buffering, Coherence, Sums}) {
      for (Litmus& litmus : make()) all.push_back(std::move(litmus));
    }
    return all;
  }();
  return patterns;
}

const Litmus& Pattern(const std::string& name) {
  for (const Litmus& litmus : Patterns()) {
    if (litmus.name == name) return litmus;
  }
  FAIL("no pattern " << name);
  return Patterns().front();
}

}  // namespace ptx2cpu::litmus
