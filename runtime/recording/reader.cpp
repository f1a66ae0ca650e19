#include "runtime/recording/reader.h"

#include <fstream>
#include <iterator>

namespace ptx2cpu::rt::recording {

namespace fs = std::filesystem;

Result<Reader> Reader::Open(const fs::path& folder) {
  const fs::path own = fs::exists(folder / "recording.txt") ? folder : folder / "process_0";
  std::ifstream in(own / "recording.txt", std::ios::binary);
  if (!in) {
    Error error{ErrorCode::kFile, "'" + folder.string() + "' is no recording"};
    error.hint = "ptx2cpu exec --record DIR -- PROGRAM makes one";
    return Fail(std::move(error));
  }
  Records records = TRY(ReadRecords(in));
  return Reader(own, std::move(records), TRY(BlockReader::Open(own)));
}

Result<std::vector<PtxText>> Reader::TextsOf(const ModuleRecord& module) const {
  std::vector<PtxText> texts;
  for (size_t i = 0; i < module.names.size(); ++i) {
    const fs::path file = folder_ / (std::to_string(module.number) + "." + std::to_string(i) + ".ptx");
    std::ifstream in(file, std::ios::binary);
    if (!in) return Fail(ErrorCode::kFile, "cannot read '" + file.string() + "'");
    texts.push_back({{std::istreambuf_iterator<char>(in), {}}, module.names[i]});
  }
  return texts;
}

}  // namespace ptx2cpu::rt::recording
