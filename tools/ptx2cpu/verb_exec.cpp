// exec: the environment in which an unmodified CUDA program finds our libraries, and then the program.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <regex>

#include "tools/ptx2cpu/atomics_option.h"
#include "tools/ptx2cpu/order_option.h"
#include "tools/ptx2cpu/order_session.h"
#include "tools/ptx2cpu/profile_session.h"

namespace ptx2cpu::tool {

namespace fs = std::filesystem;

namespace {

std::string Environment(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

// The file that a command name means, as execvp finds it; empty: none.
fs::path FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) return fs::exists(name) ? fs::path(name) : fs::path();
  std::string path = Environment("PATH");
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(':', begin), path.size());
    const fs::path file = fs::path(path.substr(begin, end - begin)) / name;
    if (access(file.c_str(), X_OK) == 0 && fs::is_regular_file(file)) return file;
    begin = end + 1;
  }
  return {};
}

// Device code without any PTX cannot run here; better reported now than at the first launch. The program may
// do without: it may load its kernels from elsewhere, and a device link leaves machine code that holds none.
void WarnOfMachineCode(const fs::path& program) {
  const Result<ptx::Extraction> extraction = ptx::ExtractFile(program);
  if (!extraction) return;
  bool has_code = false;
  for (const ptx::Container& container : extraction->containers) {
    for (const ptx::Image& image : container.images) {
      if (image.kind == ptx::Image::Kind::kPtx) return;  // not decoded here: a library may hold gigabytes
      has_code = true;
    }
  }
  if (!has_code) return;  // scripts, interpreters, programs that have kernels in libraries only
  const auto images = ptx::PtxImages(*extraction, std::nullopt, {});
  if (images || images.error().code != ErrorCode::kNoPtx) return;
  fmt::print(stderr, "ptx2cpu: warning: {}: {}: kernels of its own cannot run\n  {}\n", program.string(),
             images.error().message, images.error().hint);
}

// A word that a POSIX shell reads as this text, whatever is in it.
std::string ShellWord(std::string_view text) {
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'')
      word += "'\\''";
    else
      word += c;
  }
  return word + '\'';
}

Result<std::vector<Setting>> RecordSettings(const Arguments& arguments) {
  std::vector<Setting> settings;
  const auto folder = arguments.Value("--record");
  const auto launches = arguments.Value("--record-launches");
  const bool records = folder || arguments.Has("--order");
  if (!records && (launches || arguments.Has("--record-outputs")))
    return Fail(ErrorCode::kUsage, "--record-launches and --record-outputs need --record");
  if (folder) {
    const fs::path recording = fs::absolute(*folder);
    std::error_code error;
    if (fs::exists(recording, error) &&
        (!fs::is_directory(recording, error) || !fs::is_empty(recording, error)))
      return Fail(ErrorCode::kFile, fmt::format("'{}' exists and is no empty folder", recording.string()));
    settings.push_back({"PTX2CPU_RECORD", recording.string()});
  }
  if (launches) {
    if (!std::regex_match(*launches, std::regex("[0-9]{1,18}(-[0-9]{1,18})?")))
      return Fail(ErrorCode::kUsage, "--record-launches takes FIRST[-LAST], not '" + *launches + "'");
    settings.push_back({"PTX2CPU_RECORD_LAUNCHES", *launches});
  }
  if (arguments.Has("--record-outputs")) settings.push_back({"PTX2CPU_RECORD_OUTPUTS", "1"});
  return settings;
}

// What perf reads. The folder of --profile is made when the program starts.
Result<std::vector<Setting>> ProfileSettings(const Arguments& arguments) {
  std::vector<Setting> settings;
  if (!arguments.Has("--profile") && !arguments.Has("--check") && arguments.Has("--json"))
    return Fail(ErrorCode::kUsage, "--json needs --profile or --check");
  if (arguments.Has("--profile") && (arguments.Has("--gdb") || arguments.Has("--print-environment"))) {
    Error error{ErrorCode::kUsage,
                "--profile runs the program itself: not with --gdb or --print-environment"};
    error.hint =
        "PTX2CPU_PROFILE=DIR makes a program leave a profile in DIR; `ptx2cpu profile DIR` renders it";
    return Fail(std::move(error));
  }
  if (arguments.Has("--perf-map")) settings.push_back({"PTX2CPU_PERF_MAP", "1"});
  if (const auto folder = arguments.Value("--perf-dump")) {
    const fs::path dumps = fs::absolute(*folder);
    std::error_code error;
    fs::create_directories(dumps, error);
    if (error || !fs::is_directory(dumps))
      return Fail(ErrorCode::kFile, fmt::format("cannot make the folder '{}'", dumps.string()));
    settings.push_back({"PTX2CPU_JITDUMP", dumps.string()});
  }
  return settings;
}

Result<std::vector<Setting>> SettingsOf(const Arguments& arguments, const std::string& folder) {
  std::vector<Setting> settings;
  const auto before = [&](const char* name, const std::string& value, char separator) {
    const std::string old = Environment(name);
    settings.push_back({name, old.empty() ? value : value + separator + old});
  };
  before("LD_LIBRARY_PATH", folder, ':');
  before("LD_PRELOAD", folder + "/" + kRedirectLibrary, ':');
  struct Mapped {
    const char* option;
    const char* variable;
    uint64_t most;
  };
  for (const Mapped& each : {Mapped{"--devices", "PTX2CPU_DEVICES", 64},
                             {"--threads", "PTX2CPU_THREADS", 4096},
                             {"--sm", "PTX2CPU_COMPUTE_CAPABILITY", 999}}) {
    if (!arguments.Has(each.option)) continue;
    const uint64_t number = TRY(arguments.Number(each.option, 1, each.most));
    if (number == 0) return Fail(ErrorCode::kUsage, fmt::format("{} must be at least 1", each.option));
    settings.push_back({each.variable, std::to_string(number)});
  }
  for (Setting& setting : TRY(CheckSettings(arguments))) settings.push_back(std::move(setting));
  for (Setting& setting : TRY(AtomicsSettings(arguments))) settings.push_back(std::move(setting));
  if (arguments.Has("--check-alignment")) settings.push_back({"PTX2CPU_CHECK_ALIGNMENT", "1"});
  if (arguments.Has("--trace")) settings.push_back({"PTX2CPU_TRACE", "1"});
  if (arguments.Has("--gdb")) settings.push_back({"PTX2CPU_GDB", "1"});
  if (const auto exec = arguments.Value("--exec")) {
    if (*exec != "auto" && *exec != "lanes")
      return Fail(ErrorCode::kUsage, fmt::format("--exec is '{}'; a program takes auto or lanes", *exec));
    settings.push_back({"PTX2CPU_EXEC", std::string(*exec)});
  }
  if (arguments.Has("--opt"))
    settings.push_back({"PTX2CPU_OPT", std::to_string(TRY(arguments.Number("--opt", 3, 3)))});
  if (const auto file = arguments.Value("--timeline"))
    settings.push_back({"PTX2CPU_TIMELINE", fs::absolute(*file).string()});
  for (Setting& setting : TRY(RecordSettings(arguments))) settings.push_back(std::move(setting));
  for (Setting& setting : TRY(ProfileSettings(arguments))) settings.push_back(std::move(setting));
  if (const auto folder_of_ptx = arguments.Value("--save-ptx")) {
    const fs::path saved = fs::absolute(*folder_of_ptx);
    std::error_code error;
    fs::create_directories(saved, error);
    if (error || !fs::is_directory(saved))
      return Fail(ErrorCode::kFile, fmt::format("cannot make the folder '{}'", saved.string()));
    settings.push_back({"PTX2CPU_SAVE_PTX", saved.string()});
  }
  return settings;
}

Status Become(const fs::path& program, std::vector<std::string> command) {
  std::vector<char*> words;
  for (std::string& word : command) words.push_back(word.data());
  words.push_back(nullptr);
  execv(program.c_str(), words.data());
  return Fail(ErrorCode::kFile, fmt::format("cannot run '{}': {}", program.string(), std::strerror(errno)));
}

// gdb with the program; the settings are the program's alone.
Status StartDebugger(const Arguments& arguments, const fs::path& program, const std::string& folder,
                     const std::vector<Setting>& settings) {
  const fs::path debugger = FindProgram("gdb");
  if (debugger.empty()) return Fail(ErrorCode::kFile, "no program 'gdb'");
  std::vector<std::string> command = {"gdb", "-q", "-x", folder + "/ptx2cpu-gdb.py"};
  for (const Setting& setting : settings) {
    command.push_back("-ex");
    command.push_back("set environment " + setting.name + "=" + setting.value);
  }
  command.insert(command.end(), {"--args", program.string()});
  command.insert(command.end(), arguments.plain().begin() + 1, arguments.plain().end());
  return Become(debugger, std::move(command));
}

}  // namespace

Status RunExec(const Arguments& arguments) {
  const auto orders = TRY(ReadOrders(arguments));
  const std::string folder = TRY(DropInFolder());
  const std::vector<Setting> settings = TRY(SettingsOf(arguments, folder));
  if (arguments.Has("--print-environment")) {
    for (const Setting& setting : settings) fmt::print("{}={}\n", setting.name, ShellWord(setting.value));
    return {};
  }
  if (arguments.plain().empty()) return Fail(ErrorCode::kUsage, "exec needs a program");
  const std::string& name = arguments.plain()[0];
  const fs::path program = FindProgram(name);
  if (program.empty()) return Fail(ErrorCode::kFile, fmt::format("no program '{}'", name));
  WarnOfMachineCode(program);
  if (arguments.Has("--gdb")) return StartDebugger(arguments, program, folder, settings);
  std::vector<std::pair<std::string, std::string>> environment;
  for (const Setting& setting : settings) environment.emplace_back(setting.name, setting.value);
  if (arguments.Has("--profile"))
    return ProfileProgram(arguments, program.string(), arguments.plain(), environment);
  if (orders) return RunInOtherOrders(arguments, program.string(), arguments.plain(), std::move(environment));
  for (const Setting& setting : settings) setenv(setting.name.c_str(), setting.value.c_str(), 1);
  return Become(program, arguments.plain());
}

}  // namespace ptx2cpu::tool
