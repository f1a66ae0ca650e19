#include "tools/ptx2cpu/replay_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tools/ptx2cpu/verbs.h"

namespace ptx2cpu::tool {

using namespace rt::recording;

namespace {

constexpr const char* kAttempt = "PTX2CPU_REPLAY_ATTEMPT";
constexpr int kMaxAttempts = 16;

// Runs the same command in a process with other addresses. Returns if that is not possible.
void StartAgain() {
  const char* attempts = std::getenv(kAttempt);
  const int attempt = attempts == nullptr ? 0 : std::atoi(attempts);
  if (attempt >= kMaxAttempts) return;
  setenv(kAttempt, std::to_string(attempt + 1).c_str(), 1);
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::string line{std::istreambuf_iterator<char>(in), {}};
  std::vector<char*> words;
  for (size_t at = 0; at < line.size(); at = line.find('\0', at) + 1) words.push_back(&line[at]);
  words.push_back(nullptr);
  execv("/proc/self/exe", words.data());
}

}  // namespace

Result<ReplaySession> OpenReplay(const Arguments& arguments) {
  Reader reader = TRY(Reader::Open(TRY(arguments.OnlyFile())));
  std::vector<LaunchRecord> launches = reader.records().launches;
  if (arguments.Has("--launch")) {
    const uint64_t number = TRY(arguments.Number("--launch", 0));
    std::erase_if(launches, [&](const LaunchRecord& launch) { return launch.number != number; });
    if (launches.empty()) {
      Error error{ErrorCode::kNotFound, fmt::format("the recording has no launch {}", number)};
      error.hint = fmt::format("it has {}", reader.records().launches.size());
      return Fail(std::move(error));
    }
  }
  for (const LaunchRecord& launch : launches) {
    if (!launch.not_repeatable.empty())
      fmt::print("{}: not repeated: {}\n", NameOf(launch), launch.not_repeatable);
  }
  if (std::erase_if(launches, [](const LaunchRecord& launch) { return !launch.not_repeatable.empty(); }) !=
          0 &&
      launches.empty())
    return Fail(ErrorCode::kUnsupported, "no launch of the recording can be repeated");
  auto memory = ReplayMemory::Reserve(launches);
  if (!memory && memory.error().code == ErrorCode::kNotFound) StartAgain();
  return ReplaySession{std::move(reader), std::move(launches), TRY(std::move(memory))};
}

std::string NameOf(const LaunchRecord& launch) {
  const Dim3 &g = launch.shape.grid, &b = launch.shape.block;
  return fmt::format("launch {}: {} <<<({},{},{}), ({},{},{})>>>", launch.number, launch.kernel, g.x, g.y,
                     g.z, b.x, b.y, b.z);
}

Status CompareWithRecording(const ReplaySession& session, const Replay& replay, const RunLaunch& run) {
  size_t differ = 0;
  for (const LaunchRecord& launch : session.launches) {
    const std::string error = TRY(run(launch)).value_or("");
    std::string text;
    if (error.empty() && launch.error.empty()) {
      for (const Deviation& deviation : TRY(replay.Deviations(launch))) text += deviation.text;
    } else if (error.empty() != launch.error.empty()) {
      text =
          fmt::format("  recorded: {}\n  now: {}\n", launch.error.empty() ? "ran to its end" : launch.error,
                      error.empty() ? "ran to its end" : error);
    }
    fmt::print("{}: {}\n{}", NameOf(launch),
               text.empty() ? (error.empty() ? "same" : "the same error") : "differs", text);
    differ += text.empty() ? 0 : 1;
  }
  if (differ == 0) return {};
  return Fail(kDiffers,
              fmt::format("{} of {} launches differ from the recording", differ, session.launches.size()));
}

}  // namespace ptx2cpu::tool
