// record_vectors [--many] OUT_FILE DATE CUBIN_DIR VECTOR.ptx ...: runs every `// run:` line on the GPU of
// this machine, with --many the runs of many.h, and writes all records to one text file, each headed by "file
// NAME.gpu" or "file NAME.many"; tools/record/split_records turns it into files of tests/ptx. CUBIN_DIR holds
// NAME.cubin made by `ptxas -arch=sm_NN NAME.ptx`, so that the driver need not compile a file once per run.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string_view>

#include "tools/record/cuda_driver.h"
#include "tools/record/many.h"
#include "tools/record/vectors.h"

using namespace ptx2cpu;

namespace {
std::vector<std::byte> ReadBytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}

struct Recording {
  rt::CudaDriver& driver;
  std::ofstream& out;
  const char *date, *cubins;
  bool many;  // many.h's runs
  size_t runs = 0, failures = 0;
};

Result<std::vector<rt::VectorRun>> RunsOf(const Recording& recording, const rt::VectorFile& file) {
  if (recording.many) return rt::ManyRuns(file);
  return file.runs;
}

// Whether the GPU can record more.
bool Record(Recording& r, const rt::VectorFile& file) {
  const std::string path = file.path.string(), stem = file.path.stem().string();
  const auto runs = RunsOf(r, file);
  if (!runs) return std::fprintf(stderr, "%s: %s\n", path.c_str(), runs.error().message.c_str()), false;
  if (runs->empty()) return true;
  const std::vector<std::byte> image = ReadBytes(std::string(r.cubins) + "/" + stem + ".cubin");
  if (image.empty()) {
    std::fprintf(stderr, "no cubin for %s: not recorded\n", path.c_str());
    return true;
  }
  r.out << "file " << stem << (r.many ? ".many" : ".gpu") << "\ngpu " << r.driver.identity().name
        << "\ndriver " << r.driver.identity().driver << "\ndate " << r.date << "\n";
  for (const rt::VectorRun& run : *runs) {
    auto arguments = rt::ParseArguments(run);
    auto result = arguments
                      ? r.driver.Run(image, {run.kernel, run.grid, run.block, run.shared_bytes}, *arguments)
                      : Result<rt::GpuResult>(Fail(arguments.error()));
    ++r.runs;
    if (!result) {
      ++r.failures;
      std::fprintf(stderr, "%s %s: %s\n", path.c_str(), run.kernel.c_str(), result.error().message.c_str());
      if (result.error().code == ErrorCode::kFault) return false;
      continue;
    }
    for (const auto& [argument, bytes] : result->buffers) {
      const auto kept = r.many ? rt::Summary(run.rule, *(*arguments)[argument].type, bytes) : bytes;
      r.out << run.kernel << ' ' << run.number << ' ' << argument << ' ' << rt::ToHex(kept) << '\n';
    }
  }
  return true;
}

}  // namespace

int main(int count, char** words) {
  const bool many = count > 1 && std::string_view(words[1]) == "--many";
  words += many ? 1 : 0;
  count -= many ? 1 : 0;
  if (count < 5) {
    std::fprintf(stderr, "usage: record_vectors [--many] OUT_FILE DATE CUBIN_DIR VECTOR.ptx ...\n");
    return 2;
  }
  auto driver = rt::CudaDriver::Open();
  if (!driver) return std::fprintf(stderr, "%s\n", driver.error().message.c_str()), 1;
  std::ofstream out(words[1]);
  Recording recording{*driver, out, words[2], words[3], many};
  for (int i = 4; i < count; ++i) {
    auto file = rt::ReadVectorFile(words[i]);
    if (!file) return std::fprintf(stderr, "%s\n", file.error().message.c_str()), 1;
    if (!Record(recording, *file)) return 1;
  }
  std::fprintf(stderr, "%zu runs, %zu failures\n", recording.runs, recording.failures);
  return out.flush() && recording.failures == 0 ? 0 : 1;
}
