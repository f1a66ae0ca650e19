// ptx2cpu_docs write|check PAGE SOURCE_DIR: makes tools/docs/PAGE.md from its table, or reports whether it is
// up to date. Pages: instructions, opcodes.
#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "ir/opcode_reference.h"
#include "tools/docs/instruction_reference.h"

using namespace ptx2cpu;
namespace fs = std::filesystem;

namespace {

Result<std::string> Render(std::string_view page, const fs::path& source) {
  if (page == "instructions") return docs::RenderInstructionReference(source / "tests/ptx");
  if (page == "opcodes") return ir::RenderOpcodeReference();
  return Fail(ErrorCode::kUsage, fmt::format("no page '{}'; pages are instructions and opcodes", page));
}

Status Check(const fs::path& file, const std::string& wanted) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream found;
  found << in.rdbuf();
  if (in && found.str() == wanted) return {};
  Error error{ErrorCode::kFile, fmt::format("{} differs from the table", file.string())};
  error.hint = "cmake --build build/release --target update_docs";
  return Fail(std::move(error));
}

Status Write(const fs::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  if (out.flush()) return {};
  return Fail(ErrorCode::kFile, fmt::format("cannot write {}", file.string()));
}

Status Run(std::string_view action, std::string_view page, const fs::path& source) {
  const std::string text = TRY(Render(page, source));
  const fs::path file = source / "tools/docs" / fmt::format("{}.md", page);
  if (action == "check") return Check(file, text);
  if (action == "write") return Write(file, text);
  return Fail(ErrorCode::kUsage, fmt::format("write or check, not '{}'", action));
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) {
    fmt::print(stderr, "usage: ptx2cpu_docs write|check PAGE SOURCE_DIR\n");
    return static_cast<int>(ErrorCode::kUsage);
  }
  const Status status = Run(words[1], words[2], words[3]);
  if (status) return 0;
  fmt::print(stderr, "{}", status.error().Render());
  return static_cast<int>(status.error().code);
}
