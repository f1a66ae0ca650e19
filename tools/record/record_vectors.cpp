// record_vectors OUT_FILE DATE CUBIN_DIR VECTOR.ptx ...: runs every `// run:` line on the GPU of this machine
// and writes all records to one text file, each headed by "file NAME.gpu"; tools/record/split_records turns
// it into tests/ptx/*.gpu. CUBIN_DIR holds NAME.cubin made by `ptxas -arch=sm_NN NAME.ptx`, so that the
// driver need not compile a file once per run.
#include <cstdio>
#include <fstream>
#include <iterator>

#include "tools/record/cuda_driver.h"
#include "tools/record/vectors.h"

using namespace ptx2cpu;

namespace {
std::vector<std::byte> ReadBytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return {bytes, bytes + text.size()};
}
}  // namespace

int main(int count, char** words) {
  if (count < 5) {
    std::fprintf(stderr, "usage: record_vectors OUT_FILE DATE CUBIN_DIR VECTOR.ptx ...\n");
    return 2;
  }
  auto driver = rt::CudaDriver::Open();
  if (!driver) return std::fprintf(stderr, "%s\n", driver.error().message.c_str()), 1;
  std::ofstream out(words[1]);
  size_t runs = 0, failures = 0;
  for (int i = 4; i < count; ++i) {
    auto file = rt::ReadVectorFile(words[i]);
    if (!file) return std::fprintf(stderr, "%s\n", file.error().message.c_str()), 1;
    const std::vector<std::byte> image =
        ReadBytes(std::string(words[3]) + "/" + file->path.stem().string() + ".cubin");
    if (image.empty()) {
      std::fprintf(stderr, "no cubin for %s: not recorded\n", words[i]);
      continue;
    }
    out << "file " << file->path.stem().string() << ".gpu\ngpu " << driver->identity().name << "\ndriver "
        << driver->identity().driver << "\ndate " << words[2] << "\n";
    for (const rt::VectorRun& run : file->runs) {
      auto arguments = rt::ParseArguments(run);
      auto result = arguments
                        ? driver->Run(image, {run.kernel, run.grid, run.block, run.shared_bytes}, *arguments)
                        : Result<rt::GpuResult>(Fail(arguments.error()));
      ++runs;
      if (!result) {
        ++failures;
        std::fprintf(stderr, "%s %s: %s\n", words[i], run.kernel.c_str(), result.error().message.c_str());
        if (result.error().code == ErrorCode::kFault) return 1;
        continue;
      }
      for (const auto& [argument, bytes] : result->buffers)
        out << run.kernel << ' ' << run.number << ' ' << argument << ' ' << rt::ToHex(bytes) << '\n';
    }
  }
  std::fprintf(stderr, "%zu runs, %zu failures\n", runs, failures);
  return out.flush() && failures == 0 ? 0 : 1;
}
