#include "lowering/llvm/output/link_shared.h"

#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Program.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>

#include <optional>
#include <utility>
#include <vector>

namespace ptx2cpu::lowering {

namespace {

// A file that is removed when this object is destroyed.
class TemporaryFile {
 public:
  static Result<TemporaryFile> Create(const char* suffix) {
    TemporaryFile file;
    if (auto error = llvm::sys::fs::createTemporaryFile("ptx2cpu", suffix, file.path_)) {
      return Fail(ErrorCode::kFile, "no temporary file: " + error.message());
    }
    return file;
  }
  TemporaryFile(TemporaryFile&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  ~TemporaryFile() {
    if (!path_.empty()) static_cast<void>(llvm::sys::fs::remove(path_));
  }
  llvm::StringRef path() const { return path_; }
  std::string Read() const {
    auto buffer = llvm::MemoryBuffer::getFile(path_);
    return buffer ? (*buffer)->getBuffer().str() : std::string();
  }

 private:
  TemporaryFile() = default;
  llvm::SmallString<128> path_;
};

struct Linker {
  std::string program;
  std::vector<std::string> flags;
};

std::optional<Linker> FindLinker(const Target& target) {
  for (const char* name : {"ld.lld-19", "ld.lld"}) {
    if (auto path = llvm::sys::findProgramByName(name)) return Linker{*path, {}};
  }
  // A compiler's own linker supports its own machine only.
  if (llvm::Triple(target.triple).getArch() != llvm::Triple(llvm::sys::getProcessTriple()).getArch())
    return std::nullopt;
  for (const char* name : {"cc", "clang", "gcc"}) {
    if (auto path = llvm::sys::findProgramByName(name)) return Linker{*path, {"-nostdlib"}};
  }
  return std::nullopt;
}

}  // namespace

Result<std::string> LinkShared(std::string_view object, const Target& target) {
  auto linker = FindLinker(target);
  if (!linker) {
    return Fail({.code = ErrorCode::kFile,
                 .message = "no linker for " + target.triple + " is on the PATH",
                 .hint = "install lld-19, or write an object file (-o NAME.o) and link it on the target"});
  }
  TemporaryFile input = TRY(TemporaryFile::Create("o")), output = TRY(TemporaryFile::Create("so")),
                messages = TRY(TemporaryFile::Create("txt"));
  std::error_code error;
  llvm::raw_fd_ostream stream(input.path(), error);
  if (!error) stream.write(object.data(), object.size());
  stream.close();
  if (error || stream.has_error())
    return Fail(ErrorCode::kFile, "the temporary file " + input.path().str() + " cannot be written");
  std::vector<std::string> words{linker->program};
  words.insert(words.end(), linker->flags.begin(), linker->flags.end());
  words.insert(words.end(), {"-shared", "-o", output.path().str(), input.path().str()});
  std::vector<llvm::StringRef> arguments(words.begin(), words.end());
  std::optional<llvm::StringRef> redirects[] = {std::nullopt, messages.path(), messages.path()};
  std::string why;
  int code = llvm::sys::ExecuteAndWait(linker->program, arguments, std::nullopt, redirects, 0, 0, &why);
  if (code != 0) {
    return Fail(
        {.code = ErrorCode::kFile, .message = linker->program + " failed: " + why, .hint = messages.Read()});
  }
  return output.Read();
}

}  // namespace ptx2cpu::lowering
