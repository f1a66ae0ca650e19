// Runs every launch of corpus/manifest.txt on the GPU of this machine and writes what came out into one
// archive:
//   RECORD.txt          GPU, driver, date, and one line per launch
//   expected/...        raw contents of each output buffer, and what was printed
// A kernel is run from its default file (the reference of the record), twice, and once from every other fat
// binary or PTX file that holds it; all runs must agree. A launch that does not, or fails, is reported and
// logged in RECORD.txt, and the exit code is 1.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "tools/record/compare.h"
#include "tools/record/cuda_driver.h"
#include "tools/record/manifest.h"
#include "tools/record/tar_writer.h"

namespace ptx2cpu::rt {
namespace {

void Print(const Error& error) {
  std::fprintf(stderr, "%s%serror: %s\n", error.at.file.c_str(), error.at.file.empty() ? "" : ": ",
               error.message.c_str());
  if (error.at.line) std::fprintf(stderr, "  line %u: %s\n", error.at.line, error.excerpt.c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "  %s\n", error.hint.c_str());
}

std::string Today() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

// One of the orders in which the lines may come, always the same one.
std::string SortedLines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  std::string sorted;
  for (const std::string& line : lines) sorted += line + "\n";
  return sorted;
}

class CorpusRecorder {
 public:
  CorpusRecorder(const Manifest& manifest, CudaDriver& driver, TarWriter& archive)
      : manifest_(manifest), driver_(driver), archive_(archive) {}

  // `only`: names of kernels; empty for all.
  Status RecordAll(const std::set<std::string>& only) {
    const GpuIdentity& gpu = driver_.identity();
    log_ = "gpu " + gpu.name + "\ncompute-capability " + std::to_string(gpu.major) + "." +
           std::to_string(gpu.minor) + "\ndriver " + gpu.driver + "\ndriver-api " +
           std::to_string(gpu.api_version) + "\ndate " + Today() + "\n";
    for (const CorpusKernel& kernel : manifest_.kernels) {
      if (!only.empty() && !only.contains(kernel.name)) continue;
      for (const LaunchCase& launch : kernel.cases) {
        const Status status = RecordCase(kernel, launch);
        if (!status) Fault(kernel.name + "." + launch.name + ": " + status.error().message);
      }
    }
    return archive_.Add("RECORD.txt", log_);
  }

  size_t recorded() const { return recorded_; }
  size_t disagreements() const { return disagreements_; }
  size_t failures() const { return failures_; }

 private:
  // Files the driver can load that hold the kernel, the default one first. The default is there twice, so
  // that a launch whose result varies is noticed.
  std::vector<std::string> FilesWith(const CorpusKernel& kernel) const {
    std::vector<std::string> files = {kernel.file, kernel.file};
    for (const CorpusFile& file : manifest_.files) {
      const bool loads = (file.kind == "fatbin" || file.kind == "ptx") && !file.ptx.empty();
      const bool holds =
          std::find(file.kernels.begin(), file.kernels.end(), kernel.name) != file.kernels.end();
      if (loads && holds && file.path != kernel.file) files.push_back(file.path);
    }
    return files;
  }

  Result<const std::vector<std::byte>*> Image(const std::string& path) {
    const auto found = images_.find(path);
    if (found != images_.end()) return &found->second;
    return &images_.emplace(path, TRY(ReadCorpusBytes(manifest_, path))).first->second;
  }

  Status RecordCase(const CorpusKernel& kernel, const LaunchCase& launch) {
    const std::vector<Argument> arguments = TRY(ParseArguments(manifest_, kernel, launch));
    GpuLaunch gpu_launch{kernel.name,         launch.grid,        launch.block,
                         launch.shared_bytes, launch.cooperative, launch.cluster};
    for (const auto& [name, spec] : launch.constants) {
      gpu_launch.variables.emplace_back(name, TRY(ParseSpec(spec, manifest_.folder)).data);
    }
    std::optional<GpuResult> first;
    for (const std::string& path : FilesWith(kernel)) {
      Result<GpuResult> run = driver_.Run(*TRY(Image(path)), gpu_launch, arguments);
      if (!run) {
        run.error().message = path + ": " + run.error().message;
        return std::unexpected(std::move(run).error());
      }
      if (!first) {
        first = std::move(*run);
      } else {
        Compare(kernel, launch, arguments, path, *run, *first);
      }
    }
    for (const Expectation& expectation : launch.expectations) {
      TRY_STATUS(Store(expectation.path, first->buffers.at(expectation.argument)));
    }
    if (launch.stdout_rule != StdoutRule::kNone) {
      const std::string text =
          launch.stdout_rule == StdoutRule::kAnyOrder ? SortedLines(first->printed) : first->printed;
      const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
      TRY_STATUS(Store(launch.stdout_path, {bytes.begin(), bytes.end()}));
    }
    log_ += "recorded " + kernel.name + "." + launch.name + " from " + kernel.file + "\n";
    ++recorded_;
    return {};
  }

  // One file may be the expectation of several launches; they must have given the same.
  Status Store(const std::string& path, const std::vector<std::byte>& data) {
    const auto [known, is_new] = stored_.emplace(path, data);
    if (is_new) return archive_.Add(path, known->second);
    if (known->second != data) {
      return Fail(ErrorCode::kFault, "two launches that share " + path + " gave different results");
    }
    return {};
  }

  void Compare(const CorpusKernel& kernel, const LaunchCase& launch, const std::vector<Argument>& arguments,
               const std::string& path, const GpuResult& run, const GpuResult& first) {
    const std::string where = kernel.name + "." + launch.name + " from " + path;
    for (const Expectation& expectation : launch.expectations) {
      const size_t index = expectation.argument;
      const auto difference =
          FindDifference(expectation, *arguments[index].type, run.buffers.at(index), first.buffers.at(index));
      if (difference) Disagree(where + " argument " + std::to_string(index) + ": " + *difference);
    }
    if (launch.stdout_rule == StdoutRule::kNone) return;
    const auto difference = FindStdoutDifference(launch.stdout_rule, run.printed, first.printed);
    if (difference) Disagree(where + ": " + *difference);
  }

  void Disagree(const std::string& what) {
    ++disagreements_;
    log_ += "disagreement " + what + "\n";
    std::fprintf(stderr, "disagreement: %s\n", what.c_str());
  }

  // The launch is left out of the record; what was recorded before stays good.
  void Fault(const std::string& what) {
    ++failures_;
    log_ += "failed " + what + "\n";
    std::fprintf(stderr, "failed: %s\n", what.c_str());
  }

  const Manifest& manifest_;
  CudaDriver& driver_;
  TarWriter& archive_;
  std::map<std::string, std::vector<std::byte>> images_;
  std::map<std::string, std::vector<std::byte>> stored_;
  std::string log_;
  size_t recorded_ = 0, disagreements_ = 0, failures_ = 0;
};

Result<int> Record(const std::string& manifest_path, const std::string& archive_path,
                   const std::set<std::string>& only) {
  const Manifest manifest = TRY(ReadManifest(manifest_path));
  for (const std::string& name : only) {
    if (!manifest.FindKernel(name))
      return Fail(ErrorCode::kUsage, "the manifest has no kernel '" + name + "'");
  }
  CudaDriver driver = TRY(CudaDriver::Open());
  TarWriter archive = TRY(TarWriter::Create(archive_path));
  CorpusRecorder recorder(manifest, driver, archive);
  TRY_STATUS(recorder.RecordAll(only));
  TRY_STATUS(archive.Finish());
  std::printf("%zu launches recorded on %s, %zu disagreements, %zu failures\n", recorder.recorded(),
              driver.identity().name.c_str(), recorder.disagreements(), recorder.failures());
  return recorder.disagreements() + recorder.failures() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace ptx2cpu::rt

int main(int argc, char** argv) {
  if (argc != 3 && !(argc == 5 && std::string_view(argv[3]) == "--only")) {
    std::fprintf(stderr, "usage: record_corpus MANIFEST OUTPUT.tar [--only KERNEL,...]\n");
    return 2;
  }
  std::set<std::string> only;
  std::istringstream names(argc == 5 ? argv[4] : "");
  for (std::string name; std::getline(names, name, ',');) only.insert(name);
  const auto result = ptx2cpu::rt::Record(argv[1], argv[2], only);
  if (result) return *result;
  ptx2cpu::rt::Print(result.error());
  return static_cast<int>(result.error().code);
}
