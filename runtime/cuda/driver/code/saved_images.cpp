#include "runtime/cuda/driver/code/saved_images.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <system_error>

#include "runtime/cuda/driver/code/load.h"

namespace ptx2cpu::driver {

namespace fs = std::filesystem;

namespace {

struct Saver {
  fs::path folder;
  std::mutex mutex;
  std::set<const void*> registered;
  bool failed = false;  // reported
};

// Null: nothing is saved. Programs load images even while they end, so it is never destroyed.
Saver* TheSaver() {
  static Saver* const saver = []() -> Saver* {
    const char* folder = std::getenv("PTX2CPU_SAVE_PTX");
    if (folder == nullptr || *folder == '\0') return nullptr;
    auto* made = new Saver;
    made->folder = folder;
    return made;
  }();
  return saver;
}

bool WriteAll(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

bool WriteFile(const fs::path& path, int flags, std::string_view text) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
  if (file < 0) return false;
  const bool written = WriteAll(file, text);
  return close(file) == 0 && written;
}

// A file with this text, complete at once for a reader of the folder. Its name; empty: it cannot be
// written.
std::string Keep(const fs::path& folder, const std::string& text) {
  char name[32];
  std::snprintf(name, sizeof name, "%016" PRIx64 ".ptx", uint64_t{std::hash<std::string_view>()(text)});
  std::error_code error;
  if (fs::exists(folder / name, error)) return name;
  const fs::path part = folder / ("." + std::string(name) + "." + std::to_string(getpid()));
  if (!WriteFile(part, O_TRUNC, text)) return "";
  fs::rename(part, folder / name, error);
  return error ? "" : name;
}

// A column of the index: tabs and line ends are replaced, so that it stays one column.
std::string Column(std::string_view text) {
  std::string column(text.substr(0, text.find('\n')));
  std::ranges::replace(column, '\t', ' ');
  return column.empty() ? "-" : column;
}

class Record {
 public:
  Record(Saver& saver, const char* call) : saver_(saver), call_(call), lock_(saver.mutex) {
    std::error_code error;
    fs::create_directories(saver.folder, error);
  }
  ~Record() {
    // One write for all lines of a call, since other processes also append to the file.
    if (complete_ && WriteFile(saver_.folder / "index.tsv", O_APPEND, lines_)) return;
    if (!std::exchange(saver_.failed, true))
      std::fprintf(stderr, "ptx2cpu: PTX cannot be saved in %s: %s\n", saver_.folder.c_str(),
                   std::strerror(errno));
  }
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;

  void Add(std::string_view file, std::string_view name) {
    lines_ += Column(file) + '\t' + call_ + '\t' + std::to_string(getpid()) + '\t' + Column(name) + '\n';
  }
  void Text(const rt::PtxText& text) {
    const std::string file = Keep(saver_.folder, text.text);
    complete_ &= !file.empty();
    Add(file, text.name);
  }

 private:
  Saver& saver_;
  const char* call_;
  std::lock_guard<std::mutex> lock_;
  std::string lines_;
  bool complete_ = true;
};

}  // namespace

void SaveLoaded(const char* call, const Result<Sources>& loaded) {
  Saver* const saver = TheSaver();
  if (saver == nullptr) return;
  Record record(*saver, call);
  if (!loaded) return record.Add("-", loaded.error().message);
  for (const rt::ModuleSource& source : *loaded) {
    for (const rt::PtxText& text : source.texts) record.Text(text);
  }
}

void SaveRegistered(const void* wrapper) {
  Saver* const saver = TheSaver();
  if (saver == nullptr) return;
  SaveLoaded("__cudaRegisterFatBinary", SourcesOfImage(wrapper));
  std::lock_guard lock(saver->mutex);
  saver->registered.insert(wrapper);
}

bool IsSavedRegistration(const void* image) {
  Saver* const saver = TheSaver();
  if (saver == nullptr) return false;
  std::lock_guard lock(saver->mutex);
  return saver->registered.contains(image);
}

}  // namespace ptx2cpu::driver
