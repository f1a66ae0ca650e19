// The boundary around the compiler.
#include "runtime/engine/contained.h"

#include <pthread.h>

#include <catch2/catch.hpp>
#include <new>
#include <system_error>

using namespace ptx2cpu;

namespace {

int Deep(int depth) {
  volatile char frame[4096];
  frame[depth % 4096] = 1;
  return depth == 0 ? frame[0] : Deep(depth - 1) + frame[depth % 4096];
}

}  // namespace

TEST_CASE("a failed CHECK inside the compiler is an internal error that states how to report it") {
  const auto ran = rt::RunContained([] { CheckFailed("a == b", "pass.cpp", 12, "They differ."); });
  REQUIRE_FALSE(ran);
  CHECK(ran.error().code == ErrorCode::kInternal);
  CHECK(ran.error().message.find("pass.cpp:12: a == b does not hold. They differ.") != std::string::npos);
  CHECK(ran.error().message.find("report") != std::string::npos);
}

TEST_CASE("no memory and no thread inside the compiler are errors of the request") {
  const auto memory = rt::RunContained([] { throw std::bad_alloc(); });
  REQUIRE_FALSE(memory);
  CHECK(memory.error().code == ErrorCode::kLaunch);
  const auto thread = rt::RunContained([] { throw std::system_error(EAGAIN, std::generic_category()); });
  REQUIRE_FALSE(thread);
  CHECK(thread.error().code == ErrorCode::kLaunch);
  for (const auto* missing : {&memory, &thread}) {
    CHECK(missing->error().message.find("report") == std::string::npos);  // it is not our bug
    CHECK(missing->error().message.find("compiling: ") == 0);
  }
}

TEST_CASE("contained work gives its result, on a deep stack, also from a small one and nested") {
  const auto run = [](void* result) -> void* {
    const auto outer = rt::Contained([]() -> Result<int> {
      const int inner = TRY(rt::Contained([]() -> Result<int> { return Deep(3000); }));
      return inner + 1;
    });
    *static_cast<int*>(result) = outer ? *outer : -1;
    return nullptr;
  };
  int result = 0;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 * 1024);
  pthread_t thread;
  REQUIRE(pthread_create(&thread, &attributes, run, &result) == 0);
  pthread_join(thread, nullptr);
  CHECK(result == 3002);
}
