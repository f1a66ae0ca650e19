#include "runtime/timeline/timeline.h"

#include <unistd.h>

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

namespace ptx2cpu::rt::timeline {

namespace {

// Bounds memory: about 1.5 GB of a trace that no viewer opens.
constexpr size_t kMostEvents = 10'000'000;

enum class Group : uint8_t { kHost = 1, kStreams = 2, kWorkers = 3 };

struct Bar {
  Group group;
  uint64_t track, begin, end;
  std::string name, detail;
};

class Recorder {
 public:
  static Recorder& Get() {
    // Never destroyed: workers may still report while the process ends.
    static Recorder* const recorder = new Recorder;
    return *recorder;
  }
  void Add(Bar bar) {
    std::lock_guard lock(mutex_);
    if (bars_.size() < kMostEvents)
      bars_.push_back(std::move(bar));
    else
      ++lost_;
  }
  bool Write(const std::string& file);

 private:
  std::mutex mutex_;
  std::vector<Bar> bars_;
  uint64_t lost_ = 0;
};

std::string Escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      out += ' ';
    else
      out += c;
  }
  return out;
}

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

std::string TrackName(Group group, uint64_t track) {
  const char* kind = group == Group::kHost ? "thread " : group == Group::kStreams ? "stream " : "worker ";
  return kind + std::to_string(track);
}

bool Recorder::Write(const std::string& file) {
  std::lock_guard lock(mutex_);
  std::FILE* out = std::fopen(file.c_str(), "w");
  if (out == nullptr) return false;
  std::fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", out);
  std::map<std::pair<Group, uint64_t>, bool> tracks;
  for (const Bar& bar : bars_) tracks[{bar.group, bar.track}] = true;
  for (const Group group : {Group::kHost, Group::kStreams, Group::kWorkers}) {
    std::fprintf(out, "{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":{\"name\":\"%s\"}},\n",
                 static_cast<int>(group), NameOf(group));
  }
  for (const auto& [key, unused] : tracks) {
    std::fprintf(out,
                 "{\"ph\":\"M\",\"pid\":%d,\"tid\":%" PRIu64
                 ",\"name\":\"thread_name\",\"args\":{\"name\":\"%s\"}},\n",
                 static_cast<int>(key.first), key.second, TrackName(key.first, key.second).c_str());
  }
  for (const Bar& bar : bars_) {
    std::fprintf(out,
                 "{\"ph\":\"X\",\"pid\":%d,\"tid\":%" PRIu64
                 ",\"ts\":%.3f,\"dur\":%.3f,\"name\":\"%s\",\"args\":{\"detail\":\"%s\"}},\n",
                 static_cast<int>(bar.group), bar.track, static_cast<double>(bar.begin) / 1e3,
                 static_cast<double>(bar.end - bar.begin) / 1e3, Escape(bar.name).c_str(),
                 Escape(bar.detail).c_str());
  }
  std::fprintf(
      out, "{\"ph\":\"M\",\"pid\":1,\"name\":\"lost_events\",\"args\":{\"count\":%" PRIu64 "}}\n]}\n", lost_);
  const bool good = std::ferror(out) == 0;
  return std::fclose(out) == 0 && good;
}

const char* WantedFile() {
  const char* file = std::getenv("PTX2CPU_TIMELINE");
  return file != nullptr && *file != '\0' ? file : nullptr;
}

// A forked child has its parent's variable and would write over its file.
pid_t owner = 0;

void WriteAtEnd() {
  const char* file = WantedFile();
  if (file == nullptr || getpid() != owner) return;
  if (!Write(file)) std::fprintf(stderr, "ptx2cpu: cannot write the timeline to %s\n", file);
}

bool StartIfWanted() {
  if (WantedFile() == nullptr) return false;
  owner = getpid();
  std::atexit(WriteAtEnd);
  return true;
}

}  // namespace

namespace internal {
std::atomic<bool> wanted{StartIfWanted()};
}

uint64_t Now() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

void AddCall(std::string_view name, uint64_t begin, uint64_t end, std::string_view arguments,
             std::string_view result) {
  std::string detail = "(" + std::string(arguments) + ")";
  if (!result.empty()) detail += " = " + std::string(result);
  Recorder::Get().Add(
      {Group::kHost, static_cast<uint64_t>(gettid()), begin, end, std::string(name), std::move(detail)});
}

void AddWork(uint64_t stream, std::string_view name, uint64_t begin, uint64_t end, std::string_view detail) {
  if (Wanted())
    Recorder::Get().Add({Group::kStreams, stream, begin, end, std::string(name), std::string(detail)});
}

void AddWorker(unsigned worker, std::string_view kernel, uint64_t begin, uint64_t end) {
  if (Wanted()) Recorder::Get().Add({Group::kWorkers, worker, begin, end, std::string(kernel), {}});
}

bool Write(const std::string& file) { return Recorder::Get().Write(file); }

void Start() { internal::wanted = true; }

}  // namespace ptx2cpu::rt::timeline
