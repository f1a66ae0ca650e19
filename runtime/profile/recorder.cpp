#include "runtime/profile/recorder.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace ptx2cpu::rt::profile {

namespace {

const char* Folder() {
  const char* folder = std::getenv("PTX2CPU_PROFILE");
  return folder != nullptr && *folder == '/' ? folder : nullptr;
}

bool StartIfWanted() {
  if (!WantedByEnvironment()) return false;
  // In a forked child the file is the parent's, and there is no sampling thread.
  pthread_atfork(nullptr, nullptr, [] { internal::wanted = false; });
  return true;
}

// Sparse: only pages that are written take memory.
File* Map(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return nullptr;
  void* mapped = MAP_FAILED;
  if (ftruncate(file, sizeof(File)) == 0)
    mapped = mmap(nullptr, sizeof(File), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return mapped == MAP_FAILED ? nullptr : static_cast<File*>(mapped);
}

}  // namespace

bool WantedByEnvironment() { return Folder() != nullptr; }

namespace internal {
std::atomic<bool> wanted{StartIfWanted()};
}

uint64_t Now() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

Recorder& Recorder::Get() {
  static Recorder* const recorder = new Recorder;
  return *recorder;
}

Recorder::Recorder() {
  const char* folder = Folder();
  if (folder == nullptr) return;
  prefix_ = std::string(folder) + "/" + std::to_string(getpid()) + ".";
  file_ = Map(prefix_ + "profile");
  if (file_ == nullptr) {
    std::fprintf(stderr, "ptx2cpu: cannot write the profile %sprofile\n", prefix_.c_str());
    internal::wanted = false;
    return;
  }
  File& f = *file_;
  f.bytes = sizeof(File);
  f.pid = static_cast<uint64_t>(getpid()), f.parent = static_cast<uint64_t>(getppid());
  f.begin = f.last = Now();
  f.processors = static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_ONLN));
  f.text_bytes = 1;  // offset 0: the empty text
  f.magic = kMagic;
}

uint32_t Recorder::TextOf(std::string_view text) {
  const auto [known, is_new] = texts_.try_emplace(std::string(text), 0);
  if (!is_new) return known->second;
  if (file_->text_bytes + text.size() + 1 > kTextBytes) return 0;
  std::memcpy(file_->text + file_->text_bytes, text.data(), text.size());
  known->second = file_->text_bytes;
  file_->text_bytes += static_cast<uint32_t>(text.size()) + 1;
  return known->second;
}

CodeRow* Recorder::KnownRowOf(const ptx2cpu_kernel& code) {
  const auto found = rows_.find(&code);
  return found == rows_.end() || file_ == nullptr ? nullptr : &file_->codes[found->second];
}

CodeRow* Recorder::RowOf(const ptx2cpu_kernel& code) {
  CodeRow* row = KnownRowOf(code);
  if (row == nullptr && (row = NewRow(code)) != nullptr) row->module = kNone;
  return row;
}

CodeRow* Recorder::NewRow(const ptx2cpu_kernel& code) {
  if (file_ == nullptr || file_->code_count == kMaxCodes) return nullptr;
  rows_[&code] = file_->code_count;
  CodeRow& row = file_->codes[file_->code_count++];
  row.name = TextOf(code.name);
  return &row;
}

CallRow* Recorder::CallOf(Group group, std::string_view name) {
  const uint32_t text = TextOf(name);
  const auto [known, is_new] =
      calls_.try_emplace(uint64_t{static_cast<uint32_t>(group)} << 32 | text, file_->call_count);
  if (!is_new) return &file_->calls[known->second];
  if (file_->call_count == kMaxCalls) {
    calls_.erase(known);
    return nullptr;
  }
  CallRow& row = file_->calls[file_->call_count++];
  row.group = static_cast<uint32_t>(group), row.name = text;
  return &row;
}

uint32_t Recorder::CodeAt(uint64_t pc) {
  const auto holds = [&](uint32_t number) {
    const CodeRow& row = file_->codes[number];
    return (row.flags & kUnloaded) == 0 && pc >= row.begin && pc < row.end;
  };
  if (last_code_ != kNone && holds(last_code_)) return last_code_;
  for (uint32_t number = 0; number < file_->code_count; ++number) {
    if (holds(number)) return last_code_ = number;
  }
  return kNone;
}

void Recorder::AddSample(const ptx2cpu_kernel& code, uint64_t pc) {
  if (file_ == nullptr) return;
  ++file_->samples;
  uint32_t number = CodeAt(pc), offset = kOutside;
  if (number != kNone) {
    offset = static_cast<uint32_t>(pc - file_->codes[number].begin);
  } else {
    const CodeRow* row = KnownRowOf(code);  // it may be gone
    if (row == nullptr) return void(++file_->lost_samples);
    number = static_cast<uint32_t>(row - file_->codes);
  }
  const uint64_t key = uint64_t{number + 1} << 32 | offset;
  size_t at = (key * 0x9e3779b97f4a7c15) >> 47;
  for (size_t tries = 0; tries < 64; ++tries, ++at) {
    SampleRow& row = file_->sample_rows[at % kMaxSamples];
    if (row.code == 0) row.code = number + 1, row.offset = offset;
    if (row.code == number + 1 && row.offset == offset) return void(++row.count);
  }
  ++file_->lost_samples;
}

bool Recorder::WriteBeside(const std::string& name, std::string_view bytes) const {
  std::FILE* out = std::fopen((prefix_ + name).c_str(), "we");
  if (out == nullptr) return false;
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size();
  return std::fclose(out) == 0 && written;
}

}  // namespace ptx2cpu::rt::profile
