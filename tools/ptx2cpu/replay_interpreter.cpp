// replay --interpret: the interpreter runs the IR of a recorded launch.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "ir/interpret/machine.h"
#include "lowering/load/kernel_image.h"
#include "tools/harness/image_services.h"
#include "tools/ptx2cpu/replay_session.h"
#include "tools/ptx2cpu/stage_options.h"

namespace ptx2cpu::tool {

using namespace rt::recording;

namespace {

Result<ir::Module> BuildKernel(const ReplaySession& session, const LaunchRecord& launch,
                               const Arguments& arguments) {
  const ModuleRecord& record = session.reader.records().modules[launch.module];
  std::vector<lowering::PtxModule::Source> sources;
  for (rt::PtxText& text : TRY(session.reader.TextsOf(record)))
    sources.push_back({std::move(text.text), std::move(text.name)});
  lowering::BuildOptions options = TRY(ReadBuildOptions(arguments, {}));
  options.contract = record.contract;
  if (!arguments.Has("--exec") && !arguments.Has("--collapse"))
    options.pipeline.stop_after = kInterpretedStage;
  const lowering::PtxModule ptx = TRY(
      sources.size() == 1 ? lowering::PtxModule::Parse(std::move(sources[0].text), std::move(sources[0].name))
                          : lowering::PtxModule::Link(std::move(sources)));
  return ptx.Build(launch.kernel, options);
}

// Addresses of functions in memory are those of their identities (lowering/load/kernel_image.h); the
// interpreter has others. Words that are such addresses are exchanged for its run.
class FunctionAddresses {
 public:
  explicit FunctionAddresses(const LaunchRecord& launch) : launch_(launch) {
    const std::string prefix = lowering::IdentityName("");
    for (const NamedPlace& place : launch.places) {
      if (!place.name.starts_with(prefix)) continue;
      const uint64_t address = ir::interpret::AddressOfFunction(place.name.substr(prefix.size()));
      to_interpreter_.emplace(place.address, address);
      from_interpreter_.emplace(address, place.address);
    }
  }
  void Enter() const {
    for (const Area& area : launch_.areas) Exchange(ReplayMemory::At(area), to_interpreter_);
  }
  void Leave() const {
    for (const Area& area : launch_.areas) Exchange(ReplayMemory::At(area), from_interpreter_);
  }
  std::vector<std::byte> Parameters() const {
    std::vector<std::byte> parameters = launch_.parameters;
    Exchange(parameters, to_interpreter_);
    return parameters;
  }

 private:
  using Map = std::map<uint64_t, uint64_t>;
  static void Exchange(std::span<std::byte> bytes, const Map& map) {
    if (map.empty()) return;
    for (size_t at = 0; at + sizeof(uint64_t) <= bytes.size(); at += sizeof(uint64_t)) {
      uint64_t word;
      std::memcpy(&word, &bytes[at], sizeof word);
      const auto found = map.find(word);
      if (found != map.end()) std::memcpy(&bytes[at], &found->second, sizeof found->second);
    }
  }
  const LaunchRecord& launch_;
  Map to_interpreter_, from_interpreter_;
};

Result<std::optional<std::string>> Interpret(const ir::Module& module, const LaunchRecord& launch,
                                             Replay& replay) {
  ir::ModuleStorage storage(module);
  for (uint32_t i = 0; i < module.variables.size(); ++i) {
    const auto place = std::ranges::find(launch.places, module.variables[i].name, &NamedPlace::name);
    if (place != launch.places.end()) storage.Bind(i, reinterpret_cast<std::byte*>(place->address));
  }
  TRY_STATUS(replay.Enter(launch));
  const FunctionAddresses functions(launch);
  functions.Enter();
  ir::InterpretOptions options;
  options.grid = launch.shape.grid;
  options.block = launch.shape.block;
  const Dim3& cluster = launch.shape.cluster;
  if (cluster.x * cluster.y * cluster.z > 1) options.cluster = cluster;
  options.dynamic_shared_bytes = launch.shape.dynamic_shared_bytes;
  options.cooperative = launch.cooperative;
  options.images = &harness::InterpreterImages();
  options.allowed.emplace_back();  // never empty: a wild address is a fault, not a crash
  for (const Area& area : launch.areas) options.allowed.push_back(ReplayMemory::At(area));
  const Status status = ir::Interpret(module, module.functions[0], storage, functions.Parameters(), options);
  functions.Leave();
  if (status) return std::nullopt;
  if (status.error().code != ErrorCode::kFault) return Fail(status.error());
  return status.error().message;
}

}  // namespace

Status RunReplayInterpreter(const Arguments& arguments) {
  ReplaySession session = TRY(OpenReplay(arguments));
  Replay replay(session.reader, std::move(session.memory), {});
  return CompareWithRecording(session, replay,
                              [&](const LaunchRecord& launch) -> Result<std::optional<std::string>> {
                                const ir::Module module = TRY(BuildKernel(session, launch, arguments));
                                return Interpret(module, launch, replay);
                              });
}

}  // namespace ptx2cpu::tool
