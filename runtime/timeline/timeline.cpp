#include "runtime/timeline/timeline.h"

#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include "runtime/profile/profile.h"
#include "runtime/timeline/json_text.h"
#include "runtime/timeline/trace_file.h"

namespace ptx2cpu::rt::timeline {

namespace {

constexpr size_t kMaxEvents = 10'000'000;  // about 1.5 GB of a trace that no viewer opens

enum class Group : uint8_t { kHost = 1, kStreams = 2, kWorkers = 3 };

struct Bar {
  Group group;
  uint64_t track, begin, end;
  std::string_view name, detail;
};

const char* NameOf(Group group) {
  switch (group) {
    case Group::kHost:
      return "API calls";
    case Group::kStreams:
      return "Streams";
    case Group::kWorkers:
      return "Workers";
  }
  return "";
}

const char* TrackOf(Group group) {
  switch (group) {
    case Group::kHost:
      return "thread ";
    case Group::kStreams:
      return "stream ";
    case Group::kWorkers:
      return "worker ";
  }
  return "";
}

// JSON numbers have a point, whatever the program's locale uses.
std::string Microseconds(uint64_t nanoseconds) {
  const std::string fraction = std::to_string(nanoseconds % 1000);
  return std::to_string(nanoseconds / 1000) + "." + std::string(3 - fraction.size(), '0') + fraction;
}

class Recorder {
 public:
  static Recorder& Get() {
    // Never destroyed: workers may still report while the process ends.
    static Recorder* const recorder = new Recorder;
    return *recorder;
  }
  void Begin(std::string path) {
    std::lock_guard lock(mutex_);
    file_ = std::make_unique<TraceFile>(std::move(path));
    seen_.clear();
    count_ = 0;
  }
  void Add(const Bar& bar);

 private:
  // The first bar of a group and of a track names it.
  void AddName(Group group, uint64_t track);

  std::mutex mutex_;
  std::unique_ptr<TraceFile> file_;
  std::set<std::pair<Group, uint64_t>> seen_;  // tracks
  size_t count_ = 0;
};

void Recorder::AddName(Group group, uint64_t track) {
  if (!seen_.insert({group, track}).second) return;
  const std::string process = "{\"ph\":\"M\",\"pid\":" + std::to_string(static_cast<int>(group));
  const auto first = seen_.lower_bound({group, 0});
  if (std::next(first) == seen_.end() || std::next(first)->first != group)
    file_->Add(process + ",\"name\":\"process_name\",\"args\":{\"name\":" + QuotedJson(NameOf(group)) + "}}");
  file_->Add(process + ",\"tid\":" + std::to_string(track) + ",\"name\":\"thread_name\",\"args\":{\"name\":" +
             QuotedJson(TrackOf(group) + std::to_string(track)) + "}}");
}

void Recorder::Add(const Bar& bar) {
  std::lock_guard lock(mutex_);
  if (file_ == nullptr) return;
  if (count_ == kMaxEvents) return file_->Lose();
  ++count_;
  AddName(bar.group, bar.track);
  file_->Add("{\"ph\":\"X\",\"pid\":" + std::to_string(static_cast<int>(bar.group)) +
             ",\"tid\":" + std::to_string(bar.track) + ",\"ts\":" + Microseconds(bar.begin) +
             ",\"dur\":" + Microseconds(bar.end - bar.begin) + ",\"name\":" + QuotedJson(bar.name) +
             ",\"args\":{\"detail\":" + QuotedJson(bar.detail) + "}}");
}

// A profile adds up copies and fills, so it has their sizes as numbers: "copy of 16 bytes" is 16 bytes of
// "copy".
void AddToProfile(uint64_t stream, std::string_view name, uint64_t begin, uint64_t end) {
  constexpr std::string_view kOf = " of ", kBytes = " bytes";
  const size_t at = name.find(kOf);
  uint64_t bytes = 0;
  if (at != std::string_view::npos && name.ends_with(kBytes)) {
    std::from_chars(name.data() + at + kOf.size(), name.data() + name.size(), bytes);
    name = name.substr(0, at);
  }
  profile::AddEvent(profile::Group::kStreams, stream, name, begin, end, bytes);
}

bool StartIfWanted() {
  const char* file = std::getenv("PTX2CPU_TIMELINE");
  if (file == nullptr || *file == '\0') return false;
  // The program may change its working directory.
  std::error_code error;
  const auto whole = std::filesystem::absolute(file, error);
  Recorder::Get().Begin(error ? std::string(file) : whole.string());
  return true;
}

}  // namespace

namespace internal {
// The profile draws the same tracks.
std::atomic<bool> wanted{StartIfWanted() || profile::WantedByEnvironment()};
}  // namespace internal

uint64_t Now() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

void AddCall(std::string_view name, uint64_t begin, uint64_t end, std::string_view arguments,
             std::string_view result) {
  const auto thread = static_cast<uint64_t>(gettid());
  if (profile::Wanted()) profile::AddEvent(profile::Group::kHost, thread, name, begin, end);
  std::string detail = "(" + std::string(arguments) + ")";
  if (!result.empty()) detail += " = " + std::string(result);
  Recorder::Get().Add({Group::kHost, thread, begin, end, name, detail});
}

void AddWork(uint64_t stream, std::string_view name, uint64_t begin, uint64_t end, std::string_view detail) {
  if (profile::Wanted()) AddToProfile(stream, name, begin, end);
  if (Wanted()) Recorder::Get().Add({Group::kStreams, stream, begin, end, name, detail});
}

void AddWorker(unsigned worker, std::string_view kernel, uint64_t begin, uint64_t end) {
  if (profile::Wanted()) profile::AddEvent(profile::Group::kWorkers, worker, kernel, begin, end);
  if (Wanted()) Recorder::Get().Add({Group::kWorkers, worker, begin, end, kernel, {}});
}

void Start(const std::string& file) {
  Recorder::Get().Begin(std::filesystem::absolute(file).string());
  internal::wanted = true;
}

}  // namespace ptx2cpu::rt::timeline
