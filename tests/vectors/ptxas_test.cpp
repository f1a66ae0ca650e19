// Every PTX file of the tests and of the corpus is legal: ptxas takes it, where a toolkit is installed.
#include "tests/ptxas.h"

using namespace ptx2cpu::test;
namespace fs = std::filesystem;

TEST_CASE("ptxas takes every PTX file of the tests") {
  const std::string ptxas = FindPtxas();
  if (ptxas.empty()) {
    WARN("no ptxas here: not asked");
    return;
  }
  std::vector<std::string> files;
  for (const char* folder : {"tests", "corpus"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(PTX2CPU_SOURCE_DIR) / folder))
      if (entry.path().extension() == ".ptx") files.push_back(entry.path());
  }
  size_t newer = 0;
  for (const PtxasAnswer& answer : AskPtxas(ptxas, files)) {
    newer += answer.is_newer;
    if (!answer.refusal.empty() && !answer.is_newer) FAIL_CHECK(answer.refusal);
  }
  WARN(files.size() << " files, of a PTX version that this ptxas does not know: " << newer);
  CHECK(files.size() > 200);
  CHECK(newer < files.size() / 10);
}
