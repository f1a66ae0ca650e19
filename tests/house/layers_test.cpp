// The rooms that each room may include; a README in each folder.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "tests/house/tree.h"

using namespace ptx2cpu::house_test;

namespace {

struct Room {
  const char* path;              // longest matching prefix wins
  std::vector<const char*> may;  // prefixes of includes it may use, besides std and its own folder
};

constexpr const char* kDriverExports = "runtime/cuda/driver/";

// The rooms and what each may include: one row a room, and no cycle between the rows.
const std::vector<Room> kRooms = {
    {"ir/",
     {"fmt/", "runtime/abi/limits.h", "runtime/abi/tensor_core.h", "runtime/abi/guarded_memory.h",
      "runtime/abi/launch_shape.h", "runtime/abi/mbarrier.h"}},
    {"runtime/abi/", {}},
    {"analysis/",
     {"ir/", "boost/", "fmt/", "runtime/abi/limits.h", "runtime/abi/check.h", "runtime/abi/mbarrier.h"}},
    {"ptx-parser/fatbin/", {"ir/", "fmt/", "zstd.h", "lz4.h", "zlib.h", "elf.h"}},
    {"ptx-parser/outline/", {}},
    {"ptx-parser/parse/", {"ir/", "fmt/", "antlr4", "Ptx", "ptx-parser/antlr/"}},
    {"ptx-parser/match/", {"ir/", "fmt/", "ptx-parser/parse/"}},
    {"ptx-parser/translate/",
     {"ir/", "fmt/", "ptx-parser/parse/", "ptx-parser/match/", "runtime/abi/limits.h",
      "runtime/abi/tensor_core.h", "runtime/abi/check.h", "runtime/abi/mbarrier.h"}},
    {"lowering/forms.h", {}},
    {"lowering/load/", {"ir/result.h", "runtime/abi/"}},
    {"lowering/passes/", {"ir/", "analysis/", "fmt/", "lowering/passes.h", "runtime/abi/check.h"}},
    {"lowering/passes.h", {"ir/", "analysis/", "fmt/", "lowering/forms.h"}},
    {"lowering/thread_clock.h", {}},
    {"lowering/pipeline", {"ir/", "analysis/", "fmt/", "lowering/passes.h", "lowering/thread_clock.h"}},
    {"lowering/llvm/module/",
     {"ir/", "llvm/", "llvm-c/", "runtime/abi/", "runtime/warp/collectives.def", "runtime/warp/matrix.def",
      "runtime/math/math.def", "lowering/load/", "lowering/forms.h"}},
    // No type of the IR: a change of one compiles nothing here.
    {"lowering/llvm/optimize/",
     {"ir/result.h", "ir/internal_error.h", "llvm/", "runtime/abi/", "lowering/forms.h",
      "lowering/llvm/module/"}},
    {"lowering/llvm/emit/", {"ir/", "analysis/lanes/", "llvm/", "runtime/abi/", "lowering/llvm/module/"}},
    {"lowering/llvm/lanes/",
     {"ir/", "analysis/lanes/", "analysis/values/definitions.h", "llvm/", "runtime/abi/",
      "lowering/llvm/module/", "lowering/llvm/emit/"}},
    {"lowering/llvm/kernel/",
     {"ir/", "llvm/", "runtime/abi/", "lowering/llvm/module/", "lowering/llvm/emit/",
      "lowering/llvm/lanes/"}},
    {"lowering/llvm/output/",
     {"ir/", "llvm/", "lld/", "runtime/abi/", "lowering/load/", "lowering/llvm/module/",
      "lowering/llvm/optimize/", "lowering/llvm/kernel/", "lowering/thread_clock.h", "lowering/forms.h"}},
    {"lowering/translator/identity", {}},
    {"lowering/translator/translator.h",
     {"ir/result.h", "ir/fault_of_block.h", "lowering/forms.h", "lowering/llvm/module/emit_options.h",
      "lowering/load/kernel_image.h", "runtime/abi/limits.h"}},
    {"lowering/translator/",
     {"ir/", "lowering/compile.h", "lowering/repetition.h", "lowering/llvm/module/machines.h",
      "lowering/llvm/output/"}},
    {"lowering/",
     {"ir/", "analysis/", "ptx-parser/", "lowering/forms.h", "lowering/passes.h", "lowering/pipeline",
      "lowering/thread_clock.h", "fmt/", "runtime/abi/"}},
    {"runtime/profile/", {"runtime/abi/"}},
    {"runtime/timeline/", {"runtime/profile/profile.h"}},
    {"runtime/math/", {"runtime/abi/"}},
    {"runtime/warp/", {"runtime/abi/", "xsimd/", "runtime/math/"}},
    {"runtime/texture/", {"runtime/abi/"}},
    {"runtime/tensor/", {"runtime/abi/", "runtime/math/"}},
    {"runtime/worker/", {"runtime/abi/"}},
    {"runtime/device/", {"runtime/abi/", "runtime/worker/"}},
    {"runtime/scheduler/", {"runtime/abi/"}},
    {"runtime/check/",
     {"runtime/abi/", "runtime/device/", "runtime/worker/spin_lock.h", "runtime/timeline/json_text.h"}},
    {"runtime/launch/",
     {"runtime/abi/", "runtime/worker/", "runtime/device/", "runtime/scheduler/", "runtime/check/",
      "runtime/profile/", "runtime/timeline/"}},
    {"runtime/entry/",
     {"runtime/abi/", "runtime/worker/", "runtime/device/", "runtime/check/", "runtime/launch/"}},
    {"runtime/stream/",
     {"runtime/abi/", "runtime/worker/", "runtime/device/", "runtime/launch/", "runtime/timeline/",
      "runtime/check/written_bytes.h"}},
    {"runtime/engine/cache/", {"runtime/abi/kernel_fields.def", "lowering/translator/translator.h"}},
    {"runtime/engine/",
     {"runtime/abi/", "runtime/check/wanted.h", "runtime/launch/", "runtime/profile/", "runtime/entry/",
      "lowering/forms.h", "lowering/llvm/module/emit_options.h", "lowering/load/kernel_loader.h",
      "lowering/translator/translator.h", "lowering/translator/identity.h", "ptx-parser/outline/outline.h",
      "ptx-parser/fatbin/fatbin.h", "ir/result.h", "ir/fault_of_block.h", "ir/internal_error.h",
      "runtime/worker/", "fmt/"}},
    {"runtime/recording/",
     {"ir/result.h", "fmt/", "zstd.h", "runtime/device/", "runtime/launch/", "runtime/engine/kernel_module.h",
      "runtime/engine/ptx_text.h", "runtime/engine/cache/content_hash.h"}},
    {"runtime/cuda/abi/", {}},
    {"runtime/cuda/redirect/",
     {"runtime/abi/fault_handlers.h", "runtime/cuda/abi/", "runtime/engine/linked_image.h"}},
    {"runtime/cuda/driver/core/",
     {"runtime/abi/", "runtime/launch/", "runtime/timeline/", "runtime/worker/failure.h",
      "runtime/worker/processors.h", "runtime/cuda/abi/", "ir/result.h", "ir/internal_error.h"}},
    {"runtime/cuda/driver/context/",
     {"runtime/abi/check.h", "runtime/check/wanted.h", "runtime/device/", "runtime/stream/",
      "runtime/worker/", "runtime/cuda/abi/", "runtime/cuda/driver/core/"}},
    {"runtime/cuda/driver/memory/",
     {"runtime/abi/check.h", "runtime/check/", "runtime/stream/", "runtime/worker/", "runtime/cuda/abi/",
      "runtime/cuda/driver/core/", "runtime/cuda/driver/context/"}},
    {"runtime/cuda/driver/stream/",
     {"runtime/stream/", "runtime/cuda/abi/", "runtime/cuda/driver/core/", "runtime/cuda/driver/context/",
      "runtime/cuda/driver/memory/"}},
    {"runtime/cuda/driver/image/",
     {"runtime/abi/", "runtime/cuda/abi/", "runtime/cuda/driver/core/", "runtime/cuda/driver/memory/"}},
    {"runtime/cuda/driver/copy/",
     {"runtime/check/written_bytes.h", "runtime/stream/", "runtime/timeline/", "runtime/cuda/abi/",
      "runtime/cuda/driver/context/", "runtime/cuda/driver/memory/", "runtime/cuda/driver/stream/",
      "runtime/cuda/driver/image/"}},
    {"runtime/cuda/driver/code/",
     {"runtime/worker/", "runtime/stream/", "runtime/engine/", "runtime/cuda/abi/",
      "runtime/cuda/driver/core/", "runtime/cuda/driver/context/", "runtime/cuda/driver/memory/",
      "runtime/cuda/driver/image/"}},
    {"runtime/cuda/driver/launch/",
     {"runtime/abi/launch_shape.h", "runtime/abi/check.h", "runtime/device/", "runtime/launch/",
      "runtime/check/", "runtime/engine/", "runtime/recording/", "runtime/stream/", "runtime/cuda/abi/",
      "runtime/cuda/driver/core/", "runtime/cuda/driver/context/", "runtime/cuda/driver/memory/",
      "runtime/cuda/driver/image/", "runtime/cuda/driver/code/"}},
    {"runtime/cuda/driver/graph/",
     {"runtime/device/", "runtime/stream/", "runtime/cuda/abi/", "runtime/cuda/driver/core/",
      "runtime/cuda/driver/context/", "runtime/cuda/driver/memory/", "runtime/cuda/driver/stream/",
      "runtime/cuda/driver/copy/", "runtime/cuda/driver/code/", "runtime/cuda/driver/launch/"}},
    {"runtime/cuda/libraries/core/",
     {"ir/result.h", "runtime/stream/", "runtime/timeline/", "runtime/worker/", "runtime/cuda/abi/",
      "runtime/cuda/driver/stream/", "runtime/cuda/cudart/context.h", "driver_api.h"}},
    {"runtime/cuda/libraries/blas/",
     {"runtime/cuda/abi/", "runtime/cuda/libraries/core/", "runtime/cuda/driver/core/call.h", "cublas_api.h",
      "cudart_api.h", "ir/result.h"}},
    {"runtime/cuda/libraries/fft/",
     {"runtime/cuda/abi/", "runtime/cuda/libraries/core/", "runtime/cuda/driver/core/call.h", "cufft_api.h",
      "curand_api.h", "nvml_api.h", "cudart_api.h"}},
    {"runtime/cuda/libraries/rand/",
     {"runtime/cuda/abi/", "runtime/cuda/libraries/core/", "runtime/cuda/driver/core/call.h",
      "curand_api.h"}},
    {"runtime/cuda/libraries/lt/",
     {"runtime/cuda/abi/", "runtime/cuda/libraries/core/", "runtime/cuda/libraries/blas/",
      "runtime/cuda/driver/core/call.h", "cublaslt_api.h"}},
    {"runtime/cuda/libraries/solver/",
     {"runtime/cuda/abi/", "runtime/cuda/libraries/core/", "runtime/cuda/driver/core/call.h",
      "cusolver_api.h"}},
    {"runtime/cuda/libraries/mg/",
     {"runtime/cuda/abi/", "runtime/cuda/libraries/core/", "runtime/cuda/libraries/solver/",
      "cusolvermg_api.h", "cudart_api.h"}},
    {"runtime/cuda/libraries/sparse/",
     {"runtime/cuda/abi/", "runtime/cuda/libraries/core/", "runtime/cuda/driver/core/call.h",
      "cusparse_api.h"}},
    {"runtime/cuda/libraries/dnn/",
     {"runtime/cuda/abi/", "runtime/cuda/libraries/core/", "runtime/cuda/driver/core/call.h", "cudnn_api.h"}},
    {"runtime/cuda/libraries/ml/",
     {"runtime/cuda/abi/", "runtime/cuda/driver/core/call.h", "runtime/cuda/driver/context/memory_limits.h",
      "driver_api.h", "nvml_api.h"}},
    {"runtime/cuda/libraries/nccl/",
     {"runtime/cuda/abi/", "runtime/cuda/libraries/core/", "runtime/cuda/driver/core/call.h",
      "runtime/cuda/driver/core/local_socket.h", "runtime/stream/error_state.h", "runtime/timeline/",
      "runtime/worker/", "driver_api.h", "nccl_api.h"}},
    // The exports of the driver (*_api.cpp): nothing includes them, so they may use every room of it.
    {kDriverExports,
     {"runtime/abi/launch_shape.h", "runtime/cuda/abi/", "runtime/cuda/driver/", "runtime/engine/",
      "runtime/stream/", "runtime/launch/", "runtime/worker/", "driver_api.h"}},
    {"runtime/cuda/cudart/",
     {"runtime/abi/limits.h", "runtime/abi/launch_shape.h", "runtime/cuda/abi/", "runtime/cuda/driver/core/",
      "runtime/cuda/driver/code/saved_images.h", "runtime/cuda/driver/context/working.h",
      "runtime/worker/per_thread.h", "driver_api.h", "cudart_api.h"}},
};

const Room* RoomOf(const std::string& file) {
  const Room* best = nullptr;
  const bool exports = file.starts_with(kDriverExports) && file.ends_with("_api.cpp");
  for (const Room& room : kRooms) {
    if (exports != (std::string(room.path) == kDriverExports)) continue;
    if (file.starts_with(room.path) &&
        (best == nullptr || std::string(room.path).size() > std::string(best->path).size()))
      best = &room;
  }
  return best;
}

// Standard and system headers have neither a slash that names a room nor one of the guarded prefixes.
bool IsGuarded(const std::string& include) {
  for (const char* prefix :
       {"ir/",    "analysis/", "ptx-parser/",  "lowering/",    "runtime/",     "tools/",     "tests/",
        "boost/", "llvm/",     "llvm-c/",      "antlr4",       "xsimd/",       "fmt/",       "zstd.h",
        "lz4.h",  "zlib.h",    "driver_api.h", "cudart_api.h", "cublas_api.h", "cufft_api.h"}) {
    if (include.starts_with(prefix)) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("includes go down the house, never up or sideways") {
  const std::regex pattern("^\\s*#include\\s+[<\"]([^>\"]+)[>\"]");
  for (const fs::path& file : Sources()) {
    const std::string name = file.generic_string();
    const Room* room = RoomOf(name);
    if (room == nullptr) continue;  // tools and tests may include anything public
    for (const std::string& line : Lines(file)) {
      std::smatch match;
      if (!std::regex_search(line, match, pattern) || !IsGuarded(match[1])) continue;
      const std::string include = match[1];
      const bool own =
          include.starts_with(room->path) || include.starts_with(file.parent_path().generic_string() + "/");
      const bool allowed = own || std::any_of(room->may.begin(), room->may.end(),
                                              [&](const char* may) { return include.starts_with(may); });
      if (!allowed) FAIL_CHECK(name << " may not include " << include);
    }
  }
}

TEST_CASE("every source of the product has a room") {
  for (const fs::path& file : Sources()) {
    const std::string top = *file.begin();
    if (top == "tools" || top == "tests") continue;
    INFO(file);
    CHECK(RoomOf(file.generic_string()) != nullptr);
  }
}

TEST_CASE("the runtime need not be compiled again after a change of the IR") {
  const std::regex pattern("#include \"([^\"]+)\"");
  std::map<std::string, bool> reaches = {{"ir/function.h", true}};  // by header; false while it is visited
  const std::function<bool(const std::string&)> visit = [&](const std::string& file) {
    const auto [known, is_new] = reaches.try_emplace(file, false);
    if (!is_new || !fs::exists(kRoot / file)) return known->second;
    for (const std::string& line : Lines(file)) {
      std::smatch match;
      if (std::regex_search(line, match, pattern) && visit(match[1])) return reaches[file] = true;
    }
    return false;
  };
  REQUIRE(visit("lowering/compile.h"));
  for (const fs::path& file : Sources()) {
    const std::string name = file.generic_string();
    if (name.starts_with("runtime/") && visit(name)) FAIL_CHECK(name << " reaches ir/function.h");
  }
}

TEST_CASE("no room is in a cycle of includes") {
  // Which rooms a row reaches: those below the prefix that it names, or else the room that the prefix is in.
  const auto reached = [](const Room& from) {
    std::vector<const Room*> rooms;
    for (const char* may : from.may) {
      const size_t before = rooms.size();
      for (const Room& room : kRooms) {
        if (std::string(room.path).starts_with(may) && &room != &from) rooms.push_back(&room);
      }
      const Room* room = RoomOf(may);
      if (rooms.size() == before && room != nullptr && room != &from) rooms.push_back(room);
    }
    return rooms;
  };
  std::map<const Room*, int> state;  // 1: on the path, 2: done
  std::vector<const Room*> path;
  const std::function<void(const Room&)> visit = [&](const Room& room) {
    if (state[&room] == 2) return;
    path.push_back(&room);
    if (state[&room] == 1) {
      std::string text;
      for (const Room* at : path) text += std::string(" ") + at->path;
      FAIL_CHECK("cycle:" << text);
    } else {
      state[&room] = 1;
      for (const Room* next : reached(room)) visit(*next);
    }
    state[&room] = 2;
    path.pop_back();
  };
  for (const Room& room : kRooms) visit(room);
}

TEST_CASE("every folder states what it holds, and its parent names it") {
  for (const char* top :
       {"ir", "analysis", "ptx-parser", "lowering", "runtime", "tests", "corpus", "tools"}) {
    REQUIRE(fs::exists(kRoot / top / "README.md"));
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / top)) {
      if (!entry.is_directory()) continue;
      const fs::path folder = fs::relative(entry.path(), kRoot);
      // The nearest README above names the folder: by its name, or as a path from there.
      fs::path above = folder.parent_path();
      while (!fs::exists(kRoot / above / "README.md")) above = above.parent_path();
      const std::string text = TextOf(above / "README.md");
      const std::string name = folder.filename();
      const bool named =
          std::regex_search(text, std::regex("(^|[^A-Za-z0-9_-])" + name + "($|[^A-Za-z0-9_-])"));
      if (!named) FAIL_CHECK(above / "README.md" << " does not name " << folder);
    }
  }
  for (const fs::path& readme : Readmes()) {
    INFO(readme);
    // runtime/README.md has the way of a launch and the table of state too, which grows by a row for each
    // library.
    CHECK(Lines(readme).size() <= (readme == fs::path("runtime/README.md") ? 150 : 60));
  }
}
