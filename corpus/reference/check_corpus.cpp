// Checks the corpus against the references of this folder:
//   check_corpus MANIFEST             every expected result of the manifest, and that the manifest is
//   complete check_corpus MANIFEST --write     writes the expected results that are missing, from the
//   references
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>

#include "reference.h"
#include "tools/record/compare.h"

namespace corpus {
namespace {

using namespace ptx2cpu;
using namespace ptx2cpu::rt;

References AllReferences() {
  References references;
  for (const auto add :
       {AddLinearReferences, AddMatrixReferences, AddReductionReferences, AddSortingReferences,
        AddGraphReferences, AddSimulationReferences, AddImageReferences, AddWarpReferences,
        AddIntegerReferences, AddLanguageReferences, AddFloatReferences, AddPrintReferences,
        AddGroupReferences, AddGridReferences, AddBarrierReferences, AddProgressReferences,
        AddDivergenceReferences, AddClusterReferences}) {
    add(references);
  }
  return references;
}

class Checker {
 public:
  Checker(const Manifest& manifest, bool write) : manifest_(manifest), write_(write) {}

  Status CheckAll() {
    for (const CorpusKernel& kernel : manifest_.kernels) {
      CheckEntry(kernel);
      const auto reference = references_.find(kernel.name);
      if (reference == references_.end()) {
        Complain(kernel.name + ": no reference");
        continue;
      }
      changed_.clear();
      for (const LaunchCase& launch : kernel.cases) TRY_STATUS(CheckCase(kernel, launch, reference->second));
      for (size_t i = 0; i < kernel.parameters.size(); ++i) {
        const std::string& role = kernel.parameters[i].role;
        if ((role == "out" || role == "inout") && !changed_.contains(i))
          Complain(kernel.name + ": no launch changes " + kernel.parameters[i].name);
      }
    }
    return {};
  }
  size_t checked() const { return checked_; }
  size_t complaints() const { return complaints_; }

 private:
  void Complain(const std::string& what) {
    ++complaints_;
    std::fprintf(stderr, "%s\n", what.c_str());
  }

  // Enough launches, and PTX for an old and a new target in the kernel's file (those that need sm_90 have no
  // old one).
  void CheckEntry(const CorpusKernel& kernel) {
    if (kernel.cases.size() < 4) Complain(kernel.name + ": fewer than four launches");
    const CorpusFile* file = manifest_.FindFile(kernel.file);
    if (!file) return Complain(kernel.name + ": its file " + kernel.file + " is not in the manifest");
    const bool only_new = kernel.needs.starts_with("sm_90");
    for (const char* target : {only_new ? "sm_90" : "sm_75", "sm_90"}) {
      if (std::find(file->ptx.begin(), file->ptx.end(), target) == file->ptx.end()) {
        Complain(kernel.name + ": " + kernel.file + " has no PTX for " + target);
      }
    }
    if (std::find(file->kernels.begin(), file->kernels.end(), kernel.name) == file->kernels.end()) {
      Complain(kernel.name + " is not in " + kernel.file);
    }
  }

  Status CheckCase(const CorpusKernel& kernel, const LaunchCase& launch, const Reference& reference) {
    std::vector<Argument> arguments = TRY(ParseArguments(manifest_, kernel, launch));
    const std::vector<Argument> before = arguments;
    Call call{.grid = launch.grid,
              .block = launch.block,
              .cluster = launch.cluster,
              .arguments = arguments,
              .constants = {},
              .printed = {}};
    for (const auto& [name, spec] : launch.constants)
      call.constants[name] = TRY(ParseSpec(spec, manifest_.folder)).data;
    reference(call);
    const std::string where = kernel.name + "." + launch.name;
    for (const Expectation& expectation : launch.expectations) {
      const Argument& argument = arguments[expectation.argument];
      TRY_STATUS(Write(expectation.path, argument.data));
      const auto difference = FindDifference(
          expectation, *argument.type, TRY(ReadCorpusBytes(manifest_, expectation.path)), argument.data);
      if (difference)
        Complain(where + " argument " + std::to_string(expectation.argument) + ": " + *difference);
      if (argument.data != before[expectation.argument].data) changed_.insert(expectation.argument);
    }
    if (launch.stdout_rule != StdoutRule::kNone) {
      const auto bytes = std::as_bytes(std::span(call.printed.data(), call.printed.size()));
      TRY_STATUS(Write(launch.stdout_path, {bytes.begin(), bytes.end()}));
      const std::vector<std::byte> expected = TRY(ReadCorpusBytes(manifest_, launch.stdout_path));
      const std::string text(reinterpret_cast<const char*>(expected.data()), expected.size());
      const auto difference = FindStdoutDifference(launch.stdout_rule, text, call.printed);
      if (difference) Complain(where + ": " + *difference);
    }
    ++checked_;
    return {};
  }

  // Recorded results stay: only a missing file is written.
  Status Write(const std::string& path, const std::vector<std::byte>& data) const {
    const std::filesystem::path full = manifest_.folder / path;
    if (!write_ || std::filesystem::exists(full)) return {};
    std::filesystem::create_directories(full.parent_path());
    std::ofstream out(full, std::ios::binary);
    out.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
    if (!out.flush()) return Fail(ErrorCode::kFile, "cannot write '" + full.string() + "'");
    return {};
  }

  const Manifest& manifest_;
  const bool write_;
  const References references_ = AllReferences();
  std::set<size_t> changed_;  // arguments that some launch of the present kernel changes
  size_t checked_ = 0, complaints_ = 0;
};

Result<size_t> Check(const char* path, bool write) {
  const Manifest manifest = TRY(ReadManifest(path));
  Checker checker(manifest, write);
  TRY_STATUS(checker.CheckAll());
  std::printf("%zu kernels, %zu launches agree with the references, %zu complaints\n",
              manifest.kernels.size(), checker.checked(), checker.complaints());
  return checker.complaints();
}

}  // namespace
}  // namespace corpus

int main(int argc, char** argv) {
  const bool write = argc == 3 && std::string_view(argv[2]) == "--write";
  if (argc != 2 && !write) {
    std::fprintf(stderr, "usage: check_corpus MANIFEST [--write]\n");
    return 2;
  }
  const auto complaints = corpus::Check(argv[1], write);
  if (complaints) return *complaints == 0 ? 0 : 1;
  const ptx2cpu::Error& error = complaints.error();
  std::fprintf(stderr, "error: %s:%u %s %s\n", error.at.file.c_str(), error.at.line, error.message.c_str(),
               error.hint.c_str());
  return static_cast<int>(error.code);
}
