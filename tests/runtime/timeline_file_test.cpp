// The timeline is a JSON text whenever the process ends, and however.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <clocale>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>

#include "runtime/timeline/timeline.h"

namespace fs = std::filesystem;
namespace timeline = ptx2cpu::rt::timeline;

namespace {

// Objects, arrays, strings and numbers by the grammar of JSON.
class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}
  bool Whole() {
    const bool good = Value();
    Space();
    return good && text_.empty();
  }

 private:
  void Space() { text_.remove_prefix(std::min(text_.find_first_not_of(" \n\r\t"), text_.size())); }
  bool Take(char c) {
    Space();
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool String() {
    if (!Take('"')) return false;
    while (!text_.empty() && text_[0] != '"') {
      if (static_cast<unsigned char>(text_[0]) < 0x20 || static_cast<unsigned char>(text_[0]) > 0x7e)
        return false;
      text_.remove_prefix(text_[0] == '\\' ? 2 : 1);
    }
    return Take('"');
  }
  bool Digits() {
    const size_t count = std::min(text_.find_first_not_of("0123456789"), text_.size());
    text_.remove_prefix(count);
    return count != 0;
  }
  bool Number() {
    Space();
    if (!Digits()) return false;
    if (!text_.starts_with('.')) return true;
    text_.remove_prefix(1);
    return Digits();
  }
  bool Object() {
    if (!Take('{')) return false;
    do {
      if (!String() || !Take(':') || !Value()) return false;
    } while (Take(','));
    return Take('}');
  }
  bool Array() {
    if (!Take('[')) return false;
    do {
      if (!Value()) return false;
    } while (Take(','));
    return Take(']');
  }
  bool Value() {
    Space();
    if (text_.starts_with('{')) return Object();
    if (text_.starts_with('[')) return Array();
    return text_.starts_with('"') ? String() : Number();
  }
  std::string_view text_;
};

struct TraceOf {
  TraceOf() : file(fs::temp_directory_path() / ("ptx2cpu_timeline_test_" + std::to_string(getpid()))) {
    fs::remove(file);
  }
  ~TraceOf() { fs::remove(file); }
  std::string Text() const {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // In a process of its own, which ends as `end` ends it.
  int Record(const std::function<void()>& end) const {
    const pid_t child = fork();
    if (child == 0) {
      timeline::Start(file.string());
      for (uint64_t i = 0; i < 100; ++i)
        timeline::AddCall("cuLaunchKernel", 1000 * i, 1000 * i + 1500, "name=\"a\\b\x01\xff\"",
                          "CUDA_SUCCESS");
      timeline::AddWork(3, "scale", 5, 1000005);
      timeline::AddWorker(1, "scale", 7, 77);
      end();
      _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    return status;
  }
  const fs::path file;
};

size_t Count(const std::string& text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

void CheckWhole(const std::string& text) {
  INFO(text);
  CHECK(JsonReader(text).Whole());
  CHECK(Count(text, "cuLaunchKernel") == 100);
  CHECK(Count(text, "\"ts\":0.005,\"dur\":1000.000,\"name\":\"scale\"") == 1);
  CHECK(Count(text, "\"ts\":0.007,\"dur\":0.070,\"name\":\"scale\"") == 1);
  CHECK(Count(text, "process_name") == 3);
  CHECK(Count(text, "thread_name") == 3);
}

}  // namespace

TEST_CASE("a timeline is whole after _exit, a crash and each deadly signal") {
  const TraceOf trace;
  SECTION("_exit") {
    CHECK(WIFEXITED(trace.Record([] { _exit(0); })));
  }
  for (const int signal : {SIGINT, SIGTERM, SIGKILL, SIGABRT, SIGSEGV}) {
    DYNAMIC_SECTION(strsignal(signal)) {
      const int status = trace.Record([signal] {
        const rlimit none{0, 0};
        setrlimit(RLIMIT_CORE, &none);
        ::signal(signal, SIG_DFL);
        raise(signal);
      });
      CHECK(WIFSIGNALED(status));
    }
  }
  CheckWhole(trace.Text());
}

TEST_CASE("a timeline has decimal points, whatever the locale has") {
  const TraceOf trace;
  const fs::path locales = trace.file.string() + ".locales";
  fs::create_directory(locales);
  static_cast<void>(std::system(
      ("localedef -i de_DE -f UTF-8 '" + (locales / "comma").string() + "' >/dev/null 2>&1").c_str()));
  setenv("LOCPATH", locales.c_str(), 1);
  const char* set = std::setlocale(LC_NUMERIC, "comma");
  if (set == nullptr) WARN("no locale with a decimal comma can be made here");
  if (set != nullptr) CHECK(std::localeconv()->decimal_point == std::string(","));
  trace.Record([] {});
  std::setlocale(LC_NUMERIC, "C");
  unsetenv("LOCPATH");
  fs::remove_all(locales);
  CheckWhole(trace.Text());
}

TEST_CASE("a program that closes all descriptors loses neither its files nor the timeline") {
  const TraceOf trace;
  const fs::path own = trace.file.string() + ".own";
  trace.Record([&] {
    for (int descriptor = 3; descriptor < 256; ++descriptor) close(descriptor);
    for (int i = 0; i < 32; ++i) static_cast<void>(open(own.c_str(), O_WRONLY | O_CREAT, 0600));
    timeline::AddCall("cuCtxSynchronize", 1, 2, "", "CUDA_SUCCESS");
  });
  CHECK(fs::file_size(own) == 0);
  fs::remove(own);
  CheckWhole(trace.Text());
  CHECK(Count(trace.Text(), "cuCtxSynchronize") == 1);
}

TEST_CASE("a child leaves its parent's timeline alone; a program started meanwhile writes beside it") {
  const TraceOf trace;
  const int status = trace.Record([&] {
    const pid_t forked = fork();
    if (forked == 0) {
      timeline::AddCall("cuInit", 1, 2, "", "");  // as a child that continues with its parent's state
      timeline::Start(trace.file.string());       // as the start of another program
      timeline::AddCall("cuDriverGetVersion", 1, 2, "", "");
      _exit(0);
    }
    int status = 0;
    waitpid(forked, &status, 0);
    const fs::path expected = trace.file.string() + "." + std::to_string(forked);
    _exit(fs::exists(expected) && fs::remove(expected) ? 0 : 1);
  });
  CHECK(WEXITSTATUS(status) == 0);
  CheckWhole(trace.Text());
  CHECK(Count(trace.Text(), "cuInit") == 0);
  CHECK(Count(trace.Text(), "cuDriverGetVersion") == 0);
}
