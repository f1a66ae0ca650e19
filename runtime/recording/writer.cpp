#include "runtime/recording/writer.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace ptx2cpu::rt::recording {

namespace fs = std::filesystem;

Result<Writer> Writer::Make(const fs::path& folder, const std::string& program) {
  std::error_code error;
  fs::create_directories(folder, error);
  for (unsigned number = 0;; ++number) {
    const fs::path own = folder / ("process_" + std::to_string(number));
    if (mkdir(own.c_str(), 0777) != 0) {  // fails for all but one of the processes that try it at once
      if (errno == EEXIST) continue;
      return Fail(ErrorCode::kFile, "cannot make the folder '" + own.string() + "': " + std::strerror(errno));
    }
    Writer writer(own, TRY(BlockWriter::Make(own)));
    writer.records_.reset(std::fopen((own / "recording.txt").c_str(), "we"));
    if (writer.records_ == nullptr)
      return Fail(ErrorCode::kFile, "cannot write in '" + own.string() + "': " + std::strerror(errno));
    TRY_STATUS(writer.Append(FirstLines(program)));
    return writer;
  }
}

Status Writer::Append(const std::string& lines) {
  if (std::fwrite(lines.data(), 1, lines.size(), records_.get()) == lines.size() &&
      std::fflush(records_.get()) == 0)
    return {};
  return Fail(ErrorCode::kFile, "cannot write the recording in '" + folder_.string() + "'");
}

Result<uint32_t> Writer::AddModule(std::span<const PtxText> texts, bool contract) {
  ContentHash hash;
  for (const PtxText& text : texts) hash.Add(text.text);
  const auto [found, is_new] =
      modules_.try_emplace(hash.Add(uint64_t{contract}).Finish(), static_cast<uint32_t>(modules_.size()));
  if (!is_new) return found->second;
  ModuleRecord module{found->second, contract, {}};
  for (size_t i = 0; i < texts.size(); ++i) {
    const fs::path file = folder_ / (std::to_string(module.number) + "." + std::to_string(i) + ".ptx");
    std::ofstream out(file, std::ios::binary);
    if (!out.write(texts[i].text.data(), static_cast<std::streamsize>(texts[i].text.size())).flush())
      return Fail(ErrorCode::kFile, "cannot write '" + file.string() + "'");
    module.names.push_back(texts[i].name);
  }
  TRY_STATUS(Append(Lines(module)));
  return module.number;
}

Status Writer::AddLaunch(const LaunchRecord& launch) {
  TRY_STATUS(blocks_.Flush());
  return Append(Lines(launch));
}

}  // namespace ptx2cpu::rt::recording
