// The registry of handles: a query finds a handle exactly if it is registered, also while others are added
// and removed.
#include "runtime/cuda/driver/core/handles.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <thread>
#include <vector>

using ptx2cpu::driver::HandleKind;
using ptx2cpu::driver::Handles;

namespace {

struct Object {
  alignas(16) char bytes[16];
};

}  // namespace

TEST_CASE("a handle is live from Add to Remove, for its kind only") {
  Handles& handles = Handles::Get();
  Object object;
  CHECK_FALSE(handles.Has(&object, HandleKind::kStream));
  handles.Add(&object, HandleKind::kStream);
  CHECK(handles.Has(&object, HandleKind::kStream));
  CHECK_FALSE(handles.Has(&object, HandleKind::kEvent));
  CHECK_FALSE(handles.Has(object.bytes + 8, HandleKind::kStream));
  CHECK_FALSE(handles.Has(nullptr, HandleKind::kStream));
  CHECK_FALSE(handles.Has(reinterpret_cast<void*>(~uintptr_t{0}), HandleKind::kStream));
  CHECK_FALSE(handles.Remove(&object, HandleKind::kEvent));
  CHECK(handles.Remove(&object, HandleKind::kStream));
  CHECK_FALSE(handles.Remove(&object, HandleKind::kStream));
  CHECK_FALSE(handles.Has(&object, HandleKind::kStream));
}

TEST_CASE("tens of thousands of handles, coming and going in any order") {
  Handles& handles = Handles::Get();
  const size_t before = handles.count();
  std::vector<Object> objects(40000);
  for (const Object& object : objects) handles.Add(&object, HandleKind::kGraphNode);
  CHECK(handles.count() == before + objects.size());
  for (size_t i = 0; i < objects.size(); i += 2) REQUIRE(handles.Remove(&objects[i], HandleKind::kGraphNode));
  size_t wrong = 0;
  for (size_t i = 0; i < objects.size(); ++i)
    wrong += handles.Has(&objects[i], HandleKind::kGraphNode) != (i % 2 == 1);
  CHECK(wrong == 0);
  for (size_t i = 1; i < objects.size(); i += 2) REQUIRE(handles.Remove(&objects[i], HandleKind::kGraphNode));
  CHECK(handles.count() == before);
}

TEST_CASE("who looks up while the table grows and shrinks finds what was there all the time") {
  Handles& handles = Handles::Get();
  std::vector<Object> steady(100), passing(20000);
  for (const Object& object : steady) handles.Add(&object, HandleKind::kEvent);
  std::atomic<bool> stop{false};
  std::atomic<size_t> missing{0}, found_wrong{0};
  std::vector<std::thread> readers;
  const Object never{};
  for (int t = 0; t < 3; ++t) {
    readers.emplace_back([&] {
      while (!stop.load()) {
        for (const Object& object : steady) missing += !handles.Has(&object, HandleKind::kEvent);
        found_wrong += handles.Has(&never, HandleKind::kEvent);
      }
    });
  }
  for (int round = 0; round < 5; ++round) {
    for (const Object& object : passing) handles.Add(&object, HandleKind::kEvent);
    for (const Object& object : passing) handles.Remove(&object, HandleKind::kEvent);
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  CHECK(missing == 0);
  CHECK(found_wrong == 0);
  for (const Object& object : steady) CHECK(handles.Remove(&object, HandleKind::kEvent));
}
