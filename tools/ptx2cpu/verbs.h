// One function per verb, and code that several verbs share: finding the PTX that a user means, stage options,
// progress.
#pragma once

#include <string>
#include <vector>

#include "ir/result.h"
#include "lowering/compile.h"
#include "ptx-parser/fatbin/fatbin.h"
#include "tools/ptx2cpu/command_line.h"

namespace ptx2cpu::tool {

// In the program:
Status RunExtract(const Arguments&);
Status RunRun(const Arguments&);
Status RunWarm(const Arguments&);
Status RunExec(const Arguments&);
Status RunDevices(const Arguments&);
Status RunReplay(const Arguments&);
Status RunCompare(const Arguments&);
// In the object with the compiler:
Status RunParse(const Arguments&);
Status RunIr(const Arguments&);
Status RunCfg(const Arguments&);
Status RunCompile(const Arguments&);
Status RunInterpret(const Arguments&);
Status RunExplain(const Arguments&);
Status RunCheck(const Arguments&);
Status RunProfile(const Arguments&);
// For `run` with --interpret: runs the kernel in the interpreter. Otherwise: builds the kernel for the
// options that print stages.
Status RunStages(const Arguments&);
// replay --interpret
Status RunReplayInterpreter(const Arguments&);

// The exit code of replay and compare where memory differs from the recording. No other verb has it.
inline constexpr ErrorCode kDiffers{1};

// One program: an image, or the modules of an -rdc program or of several files, which are linked.
struct Source {
  std::vector<lowering::PtxModule::Source>
      texts;  // named for messages: "program(.nv_fatbin,sm_90)" or the .ptx file
  bool linked = false;
  ptx::JitOptions options;
  std::vector<std::string> kernels;
  Result<lowering::PtxModule> Open() const;
};
// The programs of the files in the arguments; with a kernel only the one that holds it.
Result<std::vector<Source>> LoadSources(std::optional<std::string> kernel, const Arguments& arguments);
// The programs of one file of the arguments.
Result<std::vector<Source>> LoadSourcesOf(const std::string& file, const Arguments& arguments);
// The one kernel meant by --kernel, or the only one; kNotFound with the list of names otherwise.
struct KernelChoice {
  Source source;
  std::string kernel;
};
Result<KernelChoice> ChooseKernel(const Arguments& arguments);

Status WriteFileAtomically(const std::string& path, std::string_view bytes);  // temporary file, then rename
Result<std::string> ReadWholeFile(const std::string& path);

// A progress line on stderr, shown only on a terminal and only after two seconds of work.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  void Step(size_t done, size_t total, std::string_view detail);

 private:
  std::string what_;
  double started_;
  double shown_ = 0;
};

// The interpret verb, and run --interpret: at a stage of the pipeline ("": after the last pass).
Status InterpretKernel(const Arguments& arguments, std::string stage);

// The folder of libcuda.so.1, libcudart.so.* and what exec preloads: beside this program. kFile when it is
// not there.
Result<std::string> DropInFolder();
inline constexpr const char* kRedirectLibrary = "libptx2cpu_redirect.so";

// The verbs that need the compiler itself are a shared object, libptx2cpu_verbs.so in that folder, with LLVM.
// It exports for each verb a function of this type and of the name kVerbFunction and the verb.
using VerbFunction = void(const Arguments& arguments, Status& status);
inline constexpr const char* kVerbFunction = "ptx2cpu_verb_";
Status RunInObject(std::string_view verb, const Arguments& arguments);

bool ColoursWanted();  // standard output is a terminal and NO_COLOR is not set

}  // namespace ptx2cpu::tool
