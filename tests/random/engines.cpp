#include "tests/random/engines.h"

#include "tools/harness/object_call.h"

namespace ptx2cpu::random_test {

namespace {

// Without a tier: the one that the kernel needs.
Result<lowering::BuildOptions> OptionsFor(const lowering::PtxModule& ptx, const std::string& kernel,
                                          lowering::Tier tier) {
  lowering::BuildOptions options;
  if (tier == lowering::Tier::kAuto) {
    const ir::Resumes resumes = TRY(ptx.ChooseTier(kernel)).resumes;
    if (resumes == ir::Resumes::kWarps) tier = lowering::Tier::kResumable;
    if (resumes == ir::Resumes::kLanes) tier = lowering::Tier::kLanes;
  }
  options.pipeline.passes.tier = tier;
  return options;
}

Result<harness::KernelCall> CallOf(const rt::VectorRun& run) {
  return harness::KernelCall{{run.grid[0], run.grid[1], run.grid[2]},
                             {run.block[0], run.block[1], run.block[2]},
                             run.shared_bytes,
                             TRY(rt::ParseArguments(run))};
}

Buffers Written(const harness::KernelCall& call) {
  Buffers buffers;
  for (const rt::Argument& argument : call.arguments)
    buffers.push_back(argument.IsWritten() ? argument.data : std::vector<std::byte>{});
  return buffers;
}

// Code of the lower tiers finds some reasons only at run time.
bool IsRefusal(const Error& error) {
  for (const char* reason :
       {"(tier T", "divergent branch: it decides whether", "is here with another membermask"}) {
    if (error.message.find(reason) != std::string::npos) return true;
  }
  return error.code == ErrorCode::kUnsupported;
}

}  // namespace

Engine InterpretAfter(const std::string& stage, harness::Turns turns, lowering::Tier tier) {
  std::string name = "interpreter after " + (stage.empty() ? "the pipeline" : stage);
  if (turns.backwards) name += ", backwards";
  if (tier != lowering::Tier::kAuto) name += ", tier " + std::to_string(static_cast<int>(tier) - 1);
  return {name, [=](const lowering::PtxModule& ptx, const rt::VectorRun& run) -> Result<Buffers> {
            lowering::BuildOptions options;
            if (stage != "ir") options = TRY(OptionsFor(ptx, run.kernel, tier));
            options.pipeline.stop_after = stage;
            const ir::Module module = TRY(ptx.Build(run.kernel, options));
            harness::KernelCall call = TRY(CallOf(run));
            TRY_STATUS(harness::RunInterpreter(module, call, turns));
            return Written(call);
          }};
}

Engine Compiled(int optimisation, lowering::Tier tier, harness::VectorForm form, unsigned workers) {
  std::string name = "machine code, -O" + std::to_string(optimisation);
  if (tier != lowering::Tier::kAuto) name += ", tier " + std::to_string(static_cast<int>(tier) - 1);
  if (form.width != 0 || *form.target != 0) name += ", " + harness::NameOf(form);
  return {name, [=](const lowering::PtxModule& ptx, const rt::VectorRun& run) -> Result<Buffers> {
            auto module = std::make_shared<const ir::Module>(
                TRY(ptx.Build(run.kernel, TRY(OptionsFor(ptx, run.kernel, tier)))));
            lowering::JitOptions jit = TRY(harness::OptionsFor(form, optimisation));
            jit.debug_info = false;
            harness::CompiledCall compiled =
                TRY(harness::CompiledCall::Make(std::move(module), std::move(jit)));
            harness::KernelCall call = TRY(CallOf(run));
            call.guarded = true;
            TRY_STATUS(compiled.Run(call, workers));
            return Written(call);
          }};
}

namespace {

lowering::BuildOptions ForShape(analysis::LaunchShape shape) {
  lowering::BuildOptions options;
  options.pipeline.passes.launch = shape;
  options.pipeline.verify_each = true;
  return options;
}

analysis::LaunchShape ShapeOf(const rt::VectorRun& run) { return {run.block[0], run.block[1], run.block[2]}; }

}  // namespace

Engine InterpretForBlock() {
  return {"interpreter, for blocks of one shape",
          [](const lowering::PtxModule& ptx, const rt::VectorRun& run) -> Result<Buffers> {
            const ir::Module module = TRY(ptx.Build(run.kernel, ForShape(ShapeOf(run))));
            harness::KernelCall call = TRY(CallOf(run));
            TRY_STATUS(harness::RunInterpreter(module, call, {}));
            return Written(call);
          }};
}

Engine CompiledForBlock(int optimisation, harness::VectorForm form) {
  std::string name = "machine code for blocks of one shape, -O" + std::to_string(optimisation);
  if (form.width != 0 || *form.target != 0) name += ", " + harness::NameOf(form);
  return {
      name, [=](const lowering::PtxModule& ptx, const rt::VectorRun& run) -> Result<Buffers> {
        auto module = std::make_shared<const ir::Module>(TRY(ptx.Build(run.kernel, ForShape(ShapeOf(run)))));
        lowering::JitOptions jit = TRY(harness::OptionsFor(form, optimisation));
        jit.debug_info = false;
        harness::CompiledCall compiled = TRY(harness::CompiledCall::Make(std::move(module), std::move(jit)));
        harness::KernelCall call = TRY(CallOf(run));
        call.guarded = true;
        TRY_STATUS(compiled.Run(call, 1));
        return Written(call);
      }};
}

Engine BuiltForShapes(std::vector<analysis::LaunchShape> shapes) {
  return {"code for blocks of other shapes",
          [=](const lowering::PtxModule& ptx, const rt::VectorRun& run) -> Result<Buffers> {
            static const auto jit = lowering::Jit::Create({.optimisation = 0});
            if (!jit) return Fail(jit.error());
            for (const analysis::LaunchShape shape : shapes) {
              const auto built = [&]() -> Status {
                const ir::Module module = TRY(ptx.Build(run.kernel, ForShape(shape)));
                static_cast<void>(TRY((*jit)->Explain(module, run.kernel, lowering::Jit::Stage::kLlvm)));
                return {};
              };
              if (const Status status = built(); !status) {
                Error error = status.error();
                error.message += " (for " + std::to_string(shape.x) + "x" + std::to_string(shape.y) + "x" +
                                 std::to_string(shape.z) + ")";
                return Fail(std::move(error));
              }
            }
            return InterpretAfter("").run(ptx, run);
          }};
}

Engine AsObject(int optimisation) {
  return {"object code, -O" + std::to_string(optimisation),
          [=](const lowering::PtxModule& ptx, const rt::VectorRun& run) -> Result<Buffers> {
            const ir::Module module =
                TRY(ptx.Build(run.kernel, TRY(OptionsFor(ptx, run.kernel, lowering::Tier::kAuto))));
            const ir::Module* const kernels[] = {&module};
            const auto object = TRY(harness::SharedObject::Make(kernels, {.optimisation = optimisation}));
            const ptx2cpu_kernel* descriptor = object->Kernel(run.kernel);
            if (descriptor == nullptr)
              return Fail(ErrorCode::kNotFound, "the object has no descriptor for " + run.kernel);
            harness::KernelCall call = TRY(CallOf(run));
            TRY_STATUS(harness::RunDescriptor(*descriptor, module.functions[0].params, call, 1));
            return Written(call);
          }};
}

Comparison Compare(const Engine& engine, const lowering::PtxModule& ptx, const rt::VectorRun& run,
                   const Buffers& expected) {
  const auto actual = engine.run(ptx, run);
  if (!actual) {
    return {IsRefusal(actual.error()) ? Verdict::kRefused : Verdict::kFailed,
            engine.name + ": " + actual.error().Render()};
  }
  const rt::ScalarType& word = *rt::FindScalarType("u32");
  for (size_t i = 0; i < expected.size(); ++i) {
    if (auto difference = rt::FindVectorDifference({}, word, (*actual)[i], expected[i])) {
      return {Verdict::kDiffers, engine.name + ", argument " + std::to_string(i) + ": " + *difference};
    }
  }
  return {};
}

Result<rt::VectorRun> RunOf(const std::string& text) {
  rt::VectorFile file = TRY(rt::ParseVectorFile(text, "random kernel"));
  if (file.runs.size() != 1) return Fail(ErrorCode::kInternal, "a random kernel has one run line");
  return file.runs[0];
}

}  // namespace ptx2cpu::random_test
