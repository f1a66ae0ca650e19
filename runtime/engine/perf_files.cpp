#include "runtime/engine/perf_files.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "runtime/engine/translator_object.h"

namespace ptx2cpu::rt {

namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool MapWanted() { return Environment("PTX2CPU_PERF_MAP") == "1"; }
std::string DumpFolder() { return Environment("PTX2CPU_JITDUMP"); }

// The layout of jitdump files, version 1. Times are those of `perf record -k 1`.
struct DumpHeader {
  uint32_t magic = 0x4a695444, version = 1, bytes = sizeof(DumpHeader), machine = 0, unused = 0, process = 0;
  uint64_t time = 0, flags = 0;
};
enum class Kind : uint32_t { kLoad = 0, kLines = 2 };
struct RecordHead {
  Kind kind;
  uint32_t bytes;
  uint64_t time;
};
struct LoadRecord {
  uint32_t process, thread;
  uint64_t mapped_at, address, bytes, number;
};
struct LineRecord {
  uint64_t address;
  uint32_t line, discriminator;
};

uint64_t Now() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

uint32_t Machine() {
#if defined(__aarch64__)
  return EM_AARCH64;
#elif defined(__riscv)
  return EM_RISCV;
#else
  return EM_X86_64;
#endif
}

template <typename T>
void Append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// The process's dump. A mapping of it that may be executed reports the file to perf.
class Dump {
 public:
  static Dump& Get() {
    static Dump* const dump = new Dump;
    return *dump;
  }
  void Add(Kind kind, const std::string& content) {
    std::string bytes;
    Append(bytes, RecordHead{kind, static_cast<uint32_t>(sizeof(RecordHead) + content.size()), Now()});
    bytes += content;
    // One write: a process that ends leaves whole records.
    if (file_ >= 0 && owner_ == getpid()) static_cast<void>(!write(file_, bytes.data(), bytes.size()));
  }
  std::mutex& mutex() { return mutex_; }
  uint64_t number = 0;

  // The text as a file beside the dump, where perf annotate finds it; each once.
  std::string FileOf(const std::string& text) {
    const auto [known, is_new] = texts_.try_emplace(std::hash<std::string>()(text), "");
    if (!is_new) return known->second;
    known->second =
        folder_ + "/kernels-" + std::to_string(getpid()) + "-" + std::to_string(texts_.size()) + ".ptx";
    if (std::FILE* out = std::fopen(known->second.c_str(), "we")) {
      std::fwrite(text.data(), 1, text.size(), out);
      std::fclose(out);
    }
    return known->second;
  }

 private:
  Dump() : folder_(DumpFolder()), owner_(getpid()) {
    const std::string path = folder_ + "/jit-" + std::to_string(owner_) + ".dump";
    file_ = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    DumpHeader header;
    header.machine = Machine(), header.process = static_cast<uint32_t>(owner_), header.time = Now();
    if (file_ >= 0 && write(file_, &header, sizeof header) == sizeof header &&
        mmap(nullptr, static_cast<size_t>(sysconf(_SC_PAGESIZE)), PROT_READ | PROT_EXEC, MAP_PRIVATE, file_,
             0) != MAP_FAILED)
      return;
    std::fprintf(stderr, "ptx2cpu: cannot write %s: %s\n", path.c_str(), std::strerror(errno));
  }

  std::mutex mutex_;
  const std::string folder_;
  const pid_t owner_;
  int file_ = -1;
  std::map<size_t, std::string> texts_;
};

void AddToMap(const std::string& name, const lowering::LoadedKernel& loaded) {
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (file < 0) return;
  char line[64];
  std::snprintf(line, sizeof line, "%lx %lx ", static_cast<unsigned long>(loaded.code_begin),
                static_cast<unsigned long>(loaded.code_end - loaded.code_begin));
  const std::string text = line + name + "\n";
  static_cast<void>(!write(file, text.data(), text.size()));
  close(file);
}

}  // namespace

PerfEntry::PerfEntry(const CompiledImage& compiled, KernelSource& source) {
  const bool dumps = !DumpFolder().empty();
  if ((!dumps && !MapWanted()) || !compiled.image) [[likely]]
    return;
  name_ = compiled.image->name;
  const uint32_t* const block = compiled.image->required_threads.data();
  if (block[0] != 0) {
    name_ += "[" + std::to_string(block[0]) + "x" + std::to_string(block[1]) + "x" +
             std::to_string(block[2]) + "]";
  }
  if (!dumps) return;
  if (const auto translator = TheTranslator()) lines_ = (*translator)->LinesOf(*compiled.image);
  // Code without a line belongs to the line before it.
  std::erase_if(lines_,
                [](const lowering::CodeLine& line) { return line.ptx_line == 0 && line.source_line == 0; });
  source_files_ = compiled.image->source_files;
  std::lock_guard lock(Dump::Get().mutex());
  if (source.texts().size() == 1) ptx_file_ = Dump::Get().FileOf(source.texts()[0].text);
}

void PerfEntry::Write(const lowering::LoadedKernel& loaded) const {
  if (name_.empty()) [[likely]]
    return;
  if (MapWanted()) AddToMap(name_, loaded);
  if (DumpFolder().empty()) return;
  Dump& dump = Dump::Get();
  std::lock_guard lock(dump.mutex());
  std::string lines;
  Append(lines, uint64_t{loaded.code_begin});
  Append(lines, uint64_t{lines_.size()});
  for (const lowering::CodeLine& line : lines_) {
    const bool has_source = line.source_line != 0 && line.source_file < source_files_.size();
    Append(lines,
           LineRecord{loaded.code_begin + line.offset, has_source ? line.source_line : line.ptx_line, 0});
    lines += has_source ? source_files_[line.source_file] : ptx_file_.empty() ? "kernel.ptx" : ptx_file_;
    lines += '\0';
  }
  if (!lines_.empty()) dump.Add(Kind::kLines, lines);
  std::string load;
  const uint64_t bytes = loaded.code_end - loaded.code_begin;
  Append(load, LoadRecord{static_cast<uint32_t>(getpid()), static_cast<uint32_t>(syscall(SYS_gettid)),
                          loaded.code_begin, loaded.code_begin, bytes, dump.number++});
  load.append(name_.c_str(), name_.size() + 1);
  load.append(reinterpret_cast<const char*>(loaded.code_begin), bytes);
  dump.Add(Kind::kLoad, load);
}

}  // namespace ptx2cpu::rt
