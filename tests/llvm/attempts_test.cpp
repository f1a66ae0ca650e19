// What a kernel is compiled with where that works: faults are put into each attempt.
#include "lowering/translator/attempts.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "lowering/compile.h"
#include "tests/llvm/joined_kernels.h"

using namespace ptx2cpu;
using lowering::Attempt;

namespace {

enum class Fault : uint8_t { kNone, kError, kCheck };

// Which attempts are made, where those with others or with code for warps meet a fault.
struct Attempts {
  Fault others = Fault::kNone, warps = Fault::kNone, always = Fault::kNone;
  Attempt possible = {.beside_others = true, .code_for_warps = true};
  std::string made;

  Result<int> Run(Attempt first = {.beside_others = true, .code_for_warps = true}) {
    return lowering::TryInTurn<int>(first, [&](Attempt with, Attempt& has) -> Result<int> {
      has.beside_others = with.beside_others && possible.beside_others;
      has.code_for_warps = with.code_for_warps && possible.code_for_warps;
      made += std::string(has.beside_others ? "o" : "-") + (has.code_for_warps ? "w " : "- ");
      for (const Fault fault :
           {has.beside_others ? others : Fault::kNone, has.code_for_warps ? warps : Fault::kNone, always}) {
        if (fault == Fault::kCheck) throw InternalError("a failed CHECK");
        if (fault == Fault::kError) return Fail(ErrorCode::kUnsupported, "an error");
      }
      return 7;
    });
  }
};

}  // namespace

TEST_CASE("code for warps that cannot be emitted is left out", "[attempts]") {
  for (const Fault fault : {Fault::kError, Fault::kCheck}) {
    Attempts attempts{.warps = fault, .possible = {.code_for_warps = true}, .made = {}};
    const Result<int> result = attempts.Run();
    REQUIRE(result);
    CHECK(*result == 7);
    CHECK(attempts.made == "-w -- ");
  }
}

TEST_CASE("others at fault are left out before code for warps is", "[attempts]") {
  for (const Fault fault : {Fault::kError, Fault::kCheck}) {
    Attempts attempts{.others = fault, .made = {}};
    REQUIRE(attempts.Run());
    CHECK(attempts.made == "ow -w ");
    Attempts both{.others = fault, .warps = fault, .made = {}};
    REQUIRE(both.Run());
    CHECK(both.made == "ow -w -- ");
  }
}

TEST_CASE("a kernel that is refused is compiled once, where it has nothing to leave out", "[attempts]") {
  Attempts refused{.always = Fault::kError, .possible = {}, .made = {}};
  const Result<int> result = refused.Run();
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::kUnsupported);
  CHECK(refused.made == "-- ");
  Attempts broken{.always = Fault::kCheck, .possible = {}, .made = {}};
  CHECK_THROWS_AS(broken.Run(), InternalError);
  CHECK(broken.made == "-- ");
  Attempts works{.made = {}};
  CHECK(works.Run());
  CHECK(works.made == "ow ");
}

TEST_CASE("only kernels that share callees are built beside others", "[attempts]") {
  const auto module = lowering::PtxModule::Parse(llvm_test::JoinedKernels(), "joined.ptx");
  REQUIRE(module);
  const std::vector<std::string> none = {"no_such_kernel"}, others = {"b", "c"};
  bool joined = false;
  lowering::BuildOptions options;
  options.joined = &joined;
  options.together = none;
  REQUIRE(module->Build("a", options));
  CHECK_FALSE(joined);
  options.together = others;
  REQUIRE(module->Build("a", options));
  CHECK(joined);
}
