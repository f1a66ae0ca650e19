// What the ways to replay a recording share.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/recording/reader.h"
#include "runtime/recording/replay.h"
#include "tools/ptx2cpu/command_line.h"

namespace ptx2cpu::tool {

struct ReplaySession {
  rt::recording::Reader reader;
  std::vector<rt::recording::LaunchRecord> launches;  // those that --launch names, or all
  rt::recording::ReplayMemory memory;
};

// Opens the recording and reserves its addresses; where they are not free, the program starts again, at other
// addresses of its own. Before anything is printed.
Result<ReplaySession> OpenReplay(const Arguments& arguments);

// "launch 3: saxpy <<<(4,1,1), (256,1,1)>>>".
std::string NameOf(const rt::recording::LaunchRecord& launch);

// Prints whether each launch gives what was recorded. `run` runs one and returns why it did not end well, if
// so; memory is then compared where both ended well. Exit code 1: some differ.
using RunLaunch = std::function<Result<std::optional<std::string>>(const rt::recording::LaunchRecord&)>;
Status CompareWithRecording(const ReplaySession& session, const rt::recording::Replay& replay,
                            const RunLaunch& run);

}  // namespace ptx2cpu::tool
