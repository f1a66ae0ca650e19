// Runs the tool as its users do.
#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/scratch_folder.h"

namespace ptx2cpu::tool_test {

namespace fs = std::filesystem;

inline const std::string kTool = PTX2CPU_BINARY_DIR "/bin/ptx2cpu";
inline const std::string kCorpus = PTX2CPU_SOURCE_DIR "/corpus/bin/";

struct Output {
  int code = -1;
  std::string out, err;
};

inline std::string Slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// A folder of its own per test case, removed afterwards.
struct Scratch : test::ScratchFolder {
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(path() / name, std::ios::binary) << text;
    return *this / name;
  }
};

inline Output Run(const Scratch& scratch, const std::string& arguments) {
  const std::string command =
      kTool + " " + arguments + " > '" + scratch / "out" + "' 2> '" + scratch / "err" + "'";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, Slurp(scratch.path() / "out"),
          Slurp(scratch.path() / "err")};
}

inline constexpr const char* kHead = ".version 8.0\n.target sm_80\n.address_size 64\n";

}  // namespace ptx2cpu::tool_test
