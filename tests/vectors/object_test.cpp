// Instruction vectors as object code: each file's kernels compiled ahead of time into one shared object.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "tests/vectors/vector_files.h"
#include "tools/harness/compiled_call.h"
#include "tools/harness/object_call.h"

using namespace ptx2cpu;
using namespace ptx2cpu::vectors_test;

namespace {

// The shared object of the file that was seen last. Kernel names are distinct over all vector files.
struct Compiled {
  std::shared_ptr<harness::SharedObject> object;
  std::map<std::string, std::vector<ir::Param>> params;
};

Status CompileAll(Compiled& compiled, const lowering::PtxModule& ptx) {
  compiled = {};
  std::vector<ir::Module> modules;
  for (const std::string& kernel : ptx.Kernels()) {
    modules.push_back(TRY(ptx.Build(kernel)));
    compiled.params[kernel] = modules.back().functions[0].params;
  }
  std::vector<const ir::Module*> pointers;
  for (const ir::Module& module : modules) pointers.push_back(&module);
  compiled.object = TRY(harness::SharedObject::Make(pointers, {.optimisation = 1}));
  return {};
}

}  // namespace

TEST_CASE("instruction vectors as object code") {
  Compiled compiled;
  const Prepare prepare = [&](const lowering::PtxModule& ptx, const std::string& kernel) -> Result<Runner> {
    if (!compiled.params.contains(kernel)) TRY_STATUS(CompileAll(compiled, ptx));
    const ptx2cpu_kernel* descriptor = compiled.object->Kernel(kernel);
    if (descriptor == nullptr)
      return Fail(ErrorCode::kNotFound, "the object has no descriptor for " + kernel);
    return Runner([&compiled, descriptor, kernel](harness::KernelCall& call) -> Status {
      harness::ImageScope images(call);
      TRY_STATUS(images.Bind([&](const std::string& name) { return compiled.object->Variable(name); }));
      return harness::RunDescriptor(*descriptor, compiled.params[kernel], call, 0);
    });
  };
  // The code generator is that of the other engine, so only every third file runs, unless all are requested.
  const bool all = std::getenv("PTX2CPU_FULL_TESTS") != nullptr || std::getenv("PTX2CPU_VECTOR") != nullptr;
  uint32_t number = 0;
  for (const auto& path : VectorFiles()) {
    if (number++ % 3 == 0 || all) CheckVectors(path, prepare);
  }
}
