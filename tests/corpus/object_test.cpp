// The corpus as object code, compiled ahead of time.
#include <catch2/catch.hpp>
#include <cstring>

#include "tests/corpus/corpus_runs.h"
#include "tools/harness/compiled_call.h"
#include "tools/harness/object_call.h"

using namespace ptx2cpu;
using namespace ptx2cpu::corpus_test;

TEST_CASE("corpus as object code") {
  const Prepare prepare = [](const lowering::PtxModule& ptx, const std::string& kernel) -> Result<Runner> {
    const auto module = std::make_shared<const ir::Module>(TRY(ptx.Build(kernel)));
    const ir::Module* pointer = module.get();
    auto object = TRY(harness::SharedObject::Make({&pointer, 1}, {.optimisation = 2}));
    return Runner([module, object, kernel](harness::KernelCall& call) -> Status {
      TRY_STATUS(object->Reload());
      for (const auto& [name, data] : call.variables) {
        std::byte* address = object->Variable(name);
        if (address == nullptr) return Fail(ErrorCode::kNotFound, "the object does not export " + name);
        std::memcpy(address, data.data(), data.size());
      }
      const ptx2cpu_kernel* descriptor = object->Kernel(kernel);
      if (descriptor == nullptr)
        return Fail(ErrorCode::kNotFound, "the object has no descriptor for " + kernel);
      return harness::RunDescriptor(*descriptor, module->functions[0].params, call, 0);
    });
  };
  CheckCorpus(prepare, {.one_in = 3, .first = 0});
}
