// check: will the kernels of a file run, and are the libraries there that it needs?
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/opcode.h"
#include "ptx-parser/fatbin/fatbin.h"
#include "ptx-parser/fatbin/json_writer.h"
#include "runtime/engine/progress.h"
#include "tools/ptx2cpu/needed_libraries.h"
#include "tools/ptx2cpu/verbs.h"

namespace ptx2cpu::tool {

namespace {

struct KernelReport {
  std::string name;
  std::vector<Error> errors;               // why it is refused
  std::set<std::string_view> approximate;  // instructions whose results PTX bounds and does not define
  std::set<std::string_view> functional;   // those that do what the manual defines, which no GPU has recorded
};

struct FileReport {
  std::string file;
  std::vector<KernelReport> kernels;
  std::vector<NeededLibrary> libraries;

  size_t Refused() const {
    return static_cast<size_t>(
        std::ranges::count_if(kernels, [](const KernelReport& k) { return !k.errors.empty(); }));
  }
  bool LacksLibraries() const {
    return std::ranges::any_of(libraries, [](const NeededLibrary& library) {
      return library.state == LibraryState::kMissing || library.state == LibraryState::kForeign;
    });
  }
};

bool IsApproximate(const ir::Inst& inst) {
  return (ir::Info(inst.op).attributes & ir::kBounded) != 0 ||
         (inst.attrs.flags & (ir::kApprox | ir::kFullRange)) != 0;
}

KernelReport CheckKernel(const lowering::PtxModule& module, const std::string& name) {
  const rt::CompileProgress progress(name);
  KernelReport report{name, {}, {}, {}};
  Result<ir::Module> built = module.Build(name);
  if (!built) {
    Error error = std::move(built.error());
    std::vector<Error> more = std::move(error.more);
    report.errors.push_back(std::move(error));
    for (Error& one : more) report.errors.push_back(std::move(one));
    return report;
  }
  for (const ir::Function& function : built->functions) {
    for (const ir::Inst& inst : function.insts) {
      const std::string_view ptx_name = ir::PtxName(inst.op, inst.attrs.flags);
      if (IsApproximate(inst)) report.approximate.insert(ptx_name);
      if ((ir::Info(inst.op).attributes & ir::kUnrecorded) != 0) report.functional.insert(ptx_name);
    }
  }
  return report;
}

std::string_view StateOf(const KernelReport& kernel) {
  if (!kernel.errors.empty()) return "refused";
  if (!kernel.functional.empty()) return "functional";
  return kernel.approximate.empty() ? "exact" : "approximate";
}

std::string_view Word(LibraryState state) {
  switch (state) {
    case LibraryState::kOwn:
      return "ptx2cpu";
    case LibraryState::kFound:
      return "found";
    case LibraryState::kForeign:
      return "nvidia";
    case LibraryState::kMissing:
      return "missing";
  }
  return "";
}

Result<FileReport> CheckFile(const std::string& file, const Arguments& arguments, const std::string& folder) {
  FileReport report{file, {}, TRY(NeededLibraries(file, folder))};
  const Result<std::vector<Source>> sources = LoadSourcesOf(file, arguments);
  if (!sources) {
    // A program without kernels of its own still needs libraries.
    const bool is_host_only =
        sources.error().code == ErrorCode::kNoPtx && !report.libraries.empty() && !ptx::ExtractFile(file);
    if (is_host_only) return report;
    return Fail(sources.error());
  }
  for (const Source& source : *sources) {
    const Result<lowering::PtxModule> module = source.Open();
    for (const std::string& name : source.kernels) {
      if (module) {
        report.kernels.push_back(CheckKernel(*module, name));
      } else {
        report.kernels.push_back({name, {module.error()}, {}, {}});
      }
    }
  }
  return report;
}

void PrintText(const FileReport& report) {
  fmt::print("{}: {} kernels, {} refused\n", report.file, report.kernels.size(), report.Refused());
  for (const KernelReport& kernel : report.kernels) {
    fmt::print("  {} {}", StateOf(kernel), kernel.name);
    std::vector<std::string_view> reasons(kernel.functional.begin(), kernel.functional.end());
    reasons.insert(reasons.end(), kernel.approximate.begin(), kernel.approximate.end());
    if (kernel.errors.empty() && !reasons.empty()) fmt::print(": {}", fmt::join(reasons, ", "));
    fmt::print("\n");
    for (const Error& error : kernel.errors)
      fmt::print("    {}{}\n", error.at.line == 0 ? "" : fmt::format("line {}: ", error.at.line),
                 error.message);
  }
  for (const NeededLibrary& library : report.libraries)
    fmt::print("  library {}: {}\n", library.name, Word(library.state));
}

void Write(ptx::fatbin::JsonWriter& json, const FileReport& report) {
  json.BeginObject();
  json.Key("file");
  json.String(report.file);
  json.Key("kernels");
  json.BeginArray();
  for (const KernelReport& kernel : report.kernels) {
    json.BeginObject();
    json.Key("name");
    json.String(kernel.name);
    json.Key("state");
    json.String(StateOf(kernel));
    json.Key("approximate");
    json.BeginArray();
    for (std::string_view name : kernel.approximate) json.String(name);
    json.EndArray();
    json.Key("functional");
    json.BeginArray();
    for (std::string_view name : kernel.functional) json.String(name);
    json.EndArray();
    json.Key("errors");
    json.BeginArray();
    for (const Error& error : kernel.errors) {
      json.BeginObject();
      json.Key("code");
      json.String(Name(error.code));
      json.Key("line");
      json.Number(error.at.line);
      json.Key("message");
      json.String(error.message);
      json.EndObject();
    }
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.Key("libraries");
  json.BeginArray();
  for (const NeededLibrary& library : report.libraries) {
    json.BeginObject();
    json.Key("name");
    json.String(library.name);
    json.Key("state");
    json.String(Word(library.state));
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

}  // namespace

Status RunCheck(const Arguments& arguments) {
  if (arguments.plain().empty()) return Fail(ErrorCode::kUsage, "check needs a FILE");
  const Result<std::string> folder = DropInFolder();
  std::vector<FileReport> reports;
  for (const std::string& file : arguments.plain())
    reports.push_back(TRY(CheckFile(file, arguments, folder ? *folder : "")));
  if (arguments.Has("--json")) {
    ptx::fatbin::JsonWriter json;
    json.BeginArray();
    for (const FileReport& report : reports) Write(json, report);
    json.EndArray();
    fmt::print("{}", json.Take());
  } else {
    for (const FileReport& report : reports) PrintText(report);
  }
  size_t refused = 0, all = 0;
  bool lacks = false;
  for (const FileReport& report : reports) {
    refused += report.Refused();
    all += report.kernels.size();
    lacks |= report.LacksLibraries();
  }
  if (refused != 0)
    return Fail(ErrorCode::kUnsupported, fmt::format("refused: {} of {} kernels", refused, all));
  if (lacks) return Fail(ErrorCode::kNotFound, "libraries are missing, or NVIDIA's own");
  return {};
}

}  // namespace ptx2cpu::tool
