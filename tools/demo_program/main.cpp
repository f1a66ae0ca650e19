// ptx2cpu_demo CORPUS_BIN: takes kernels out of CUDA binaries, runs them on the CPU, shows and checks what
// they compute. Exit code: 0 when every check holds, 1 when one does not, else the code of the error
// (ir/result.h).
#include <fmt/format.h>

#include <filesystem>

#include "tools/demo_program/exhibit.h"

using namespace ptx2cpu;
using namespace ptx2cpu::demo;
namespace fs = std::filesystem;

namespace {

constexpr Exhibit kExhibits[] = {
    {"run_vectors", "program made by nvcc", "saxpy",
     "A times x plus y, one thread per element; surplus threads return early.", ShowSaxpy},
    {"mandelbrot.fatbin", "fat binary, zstd", "mandelbrot",
     "Escape times: a loop that every thread leaves at another time.", ShowMandelbrot},
    {"library.so", "shared library", "histogram_shared", "Atomics on shared memory, then on global memory.",
     ShowHistogram},
    {"libsorting.a", "archive", "bitonic_sort_shared", "A sorting network: barriers in two nested loops.",
     ShowSort},
    {"scan.o", "object file", "scan_shuffle", "Prefix sums by warp shuffles, two barriers between them.",
     ShowScan},
    {"run_reductions", "program made by nvcc", "reduce_shuffle",
     "The sum of an array in eight ways, from tree to shuffle.", ShowReductions},
    {"matmul.speed.fatbin", "fat binary, LZ4", "matmul_tiled",
     "A matrix product through tiles in shared memory.", ShowMatrixProduct},
    {"life.fatbin", "fat binary", "life_step",
     "The game of life on a torus: a tile with its halo, two dimensions.", ShowLife},
    {"nbody.fatbin", "fat binary", "nbody_accelerations",
     "Gravitation between all pairs, 16-byte loads and stores.", ShowBodies},
    {"wavefront.fatbin", "fat binary", "edit_distance_wavefront",
     "Dynamic programming: a barrier after every anti-diagonal.", ShowEditDistance},
};

std::string FoundText(const Program& program) {
  std::string text;
  for (const std::string& name : program.KernelNames())
    text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
  return text;
}

Result<bool> Show(const Exhibit& exhibit, size_t number, const fs::path& directory, const Page& page) {
  const fs::path file = directory / exhibit.file;
  page.Heading(fmt::format("{}/{} {}", number, std::size(kExhibits), exhibit.kernel),
               fmt::format("{}, {}", exhibit.file, exhibit.kind));
  page.Entry("shows", exhibit.shows);
  const Program program = TRY(Program::Load(file));
  page.Entry("found", FoundText(program));
  Run run(program, TRY(program.Get(exhibit.kernel)), page);
  page.Line();
  TRY_STATUS(exhibit.run(run));
  page.Line();
  run.PrintOutcome();
  return run.right();
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) {
    fmt::print(stderr, "usage: ptx2cpu_demo CORPUS_BIN\n");
    return static_cast<int>(ErrorCode::kUsage);
  }
  const Page page;
  page.Line("Kernels out of CUDA binaries, translated from PTX and run on this CPU.");
  size_t wrong = 0, number = 0;
  int failure = 0;
  const auto start = std::chrono::steady_clock::now();
  for (const Exhibit& exhibit : kExhibits) {
    const Result<bool> right = Show(exhibit, ++number, words[1], page);
    std::fflush(stdout);
    if (right && *right) continue;
    ++wrong;
    if (right) continue;
    fmt::print(stderr, "{}", right.error().Render());
    failure = static_cast<int>(right.error().code);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  page.Line();
  if (wrong == 0) {
    page.Line(page.Paint(Colour::kGood, fmt::format("All {} results agree with plain C++.", number)) +
              fmt::format(" {:.1f} seconds in all.", seconds));
    return 0;
  }
  page.Line(page.Paint(Colour::kBad, fmt::format("{} of {} kernels failed.", wrong, number)));
  return failure != 0 ? failure : 1;
}
