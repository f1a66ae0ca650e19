#include "runtime/timeline/trace_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace ptx2cpu::rt::timeline {

namespace {

constexpr char kHead[] = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";

std::string End(uint64_t lost) {
  return "{\"ph\":\"M\",\"pid\":1,\"name\":\"lost_events\",\"args\":{\"count\":" + std::to_string(lost) +
         "}}\n]}\n";
}

}  // namespace

void TraceFile::Fail(const char* what) {
  if (!failed_)
    std::fprintf(stderr, "ptx2cpu: cannot %s the timeline %s: %s\n", what, path_.c_str(),
                 std::strerror(errno));
  failed_ = true;
}

// The first process that writes keeps the file as long as it runs; a process that it has started (and that
// has the same variable) writes another file beside it.
bool TraceFile::Open() {
  owner_ = getpid();
  for (const bool beside : {false, true}) {
    if (beside) path_ += "." + std::to_string(owner_);
    const int file = open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) return Fail("open"), false;
    if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK && !beside) {
      close(file);
      continue;
    }
    struct stat status{};
    if (ftruncate(file, 0) != 0 && errno != EINVAL) {  // a pipe or a device has no size
      Fail("write");
      return close(file), false;
    }
    static_cast<void>(fstat(file, &status));
    file_ = file, device_ = status.st_dev, inode_ = status.st_ino;
    return true;
  }
  return false;
}

// A program may close all descriptors; then the number may be another file's.
bool TraceFile::StillOpen() const {
  struct stat status{};
  return fstat(file_, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

void TraceFile::Add(const std::string& event) {
  if (failed_ || (file_ < 0 && !Open()) || getpid() != owner_) return;
  if (!StillOpen()) {
    file_ = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (file_ < 0 || !StillOpen()) {
      if (file_ >= 0) close(file_);
      return Fail("find");
    }
  }
  // One write for the event and the end of the text: what ends the process does not come between them.
  const std::string line = (end_ == 0 ? kHead : "") + event + ",\n";
  const std::string bytes = line + End(lost_);
  const ssize_t written = pwrite(file_, bytes.data(), bytes.size(), end_);
  if (written == static_cast<ssize_t>(bytes.size())) {
    end_ += static_cast<off_t>(line.size());
    return;
  }
  if (written >= 0) errno = ENOSPC;
  Fail("write");
  if (end_ == 0) return;
  // The text as it was before: shorter than what did not fit.
  const std::string end = End(lost_);
  if (pwrite(file_, end.data(), end.size(), end_) == static_cast<ssize_t>(end.size()))
    static_cast<void>(!ftruncate(file_, end_ + static_cast<off_t>(end.size())));
}

}  // namespace ptx2cpu::rt::timeline
