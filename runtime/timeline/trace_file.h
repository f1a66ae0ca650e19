// A Chrome trace on disk, complete after every event.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace ptx2cpu::rt::timeline {

class TraceFile {
 public:
  // `path`: absolute. Nothing is opened before the first event.
  explicit TraceFile(std::string path) : path_(std::move(path)) {}
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  // An event: a JSON object without a comma after it. In a child made by fork nothing is written: the file is
  // its parent's. One thread at a time.
  void Add(const std::string& event);
  // Counts an event that was left out.
  void Lose() { ++lost_; }

 private:
  bool Open();
  bool StillOpen() const;
  void Fail(const char* what);

  std::string path_;
  int file_ = -1;
  dev_t device_ = 0;  // what `file_` referred to when it was opened
  ino_t inode_ = 0;
  pid_t owner_ = 0;
  off_t end_ = 0;  // where the next event goes: the text's end was written after this place
  uint64_t lost_ = 0;
  bool failed_ = false;
};

}  // namespace ptx2cpu::rt::timeline
