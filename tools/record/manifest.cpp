#include "tools/record/manifest.h"

#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

namespace ptx2cpu::rt {
namespace {

// Reads the manifest line by line. A line is a keyword and words; `file`, `kernel` and `case` open an entry
// that the following lines fill.
class ManifestReader {
 public:
  ManifestReader(Manifest& manifest, std::string file) : manifest_(manifest), file_(std::move(file)) {}

  Status ReadLine(std::string_view line, uint32_t number) {
    number_ = number;
    line_ = line;
    const size_t start = line.find_first_not_of(" \t");
    if (start == std::string_view::npos || line[start] == '#') return {};
    std::istringstream in{std::string(line)};
    std::string keyword;
    in >> keyword;
    words_.assign(std::istream_iterator<std::string>(in), {});
    rest_ = line.substr(start + keyword.size());
    rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size()));
    if (number == 1) {
      if (keyword == "ptx2cpu-corpus" && words_ == std::vector<std::string>{"1"}) return {};
      return Bad("the first line must be 'ptx2cpu-corpus 1'");
    }
    if (keyword == "file") return OpenFile();
    if (keyword == "kernel") return OpenKernel();
    if (keyword == "case") return OpenCase();
    if (in_case_) return CaseLine(keyword);
    if (in_kernel_) return KernelLine(keyword);
    if (!manifest_.files.empty()) return FileLine(keyword);
    return Bad("no entry is open");
  }

 private:
  std::unexpected<Error> Bad(std::string message) const {
    return Fail(Error{.code = ErrorCode::kFile,
                      .message = std::move(message),
                      .at = {.file = file_, .line = number_},
                      .excerpt = std::string(line_)});
  }
  Status Want(size_t count) const {
    if (words_.size() != count) return Bad("expected " + std::to_string(count) + " words after the keyword");
    return {};
  }
  template <typename T>
  Status Number(const std::string& text, T& value) const {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end) return Bad("'" + text + "' is not a number");
    return {};
  }
  Status Dimensions(std::array<uint32_t, 3>& dimensions) const {
    TRY_STATUS(Want(3));
    for (size_t d = 0; d < 3; ++d) TRY_STATUS(Number(words_[d], dimensions[d]));
    return {};
  }

  Status OpenFile() {
    TRY_STATUS(Want(1));
    in_kernel_ = in_case_ = false;
    manifest_.files.push_back({.path = words_[0]});
    return {};
  }
  Status OpenKernel() {
    TRY_STATUS(Want(1));
    if (manifest_.FindKernel(words_[0])) return Bad("kernel '" + words_[0] + "' appears here twice");
    in_kernel_ = true;
    in_case_ = false;
    manifest_.kernels.push_back({.name = words_[0]});
    return {};
  }
  Status OpenCase() {
    TRY_STATUS(Want(1));
    if (!in_kernel_) return Bad("a case outside a kernel");
    in_case_ = true;
    manifest_.kernels.back().cases.push_back({.name = words_[0]});
    return {};
  }

  Status FileLine(std::string_view keyword) {
    CorpusFile& file = manifest_.files.back();
    if (keyword == "kind")
      file.kind = rest_;
    else if (keyword == "source")
      file.source = rest_;
    else if (keyword == "command")
      file.command = rest_;
    else if (keyword == "sha256")
      file.sha256 = rest_;
    else if (keyword == "size")
      return Number(std::string(rest_), file.size);
    else if (keyword == "ptx")
      file.ptx = words_;
    else if (keyword == "kernels")
      file.kernels = words_;
    else
      return Bad("unknown keyword in a file entry");
    return {};
  }

  Status KernelLine(std::string_view keyword) {
    CorpusKernel& kernel = manifest_.kernels.back();
    if (keyword == "source")
      kernel.source = rest_;
    else if (keyword == "shows")
      kernel.shows = rest_;
    else if (keyword == "needs")
      kernel.needs = rest_;
    else if (keyword == "in")
      kernel.file = rest_;
    else if (keyword == "param") {
      TRY_STATUS(Want(3));
      kernel.parameters.push_back({words_[0], words_[1], words_[2]});
    } else {
      return Bad("unknown keyword in a kernel entry");
    }
    return {};
  }

  Status CaseLine(std::string_view keyword) {
    LaunchCase& launch = manifest_.kernels.back().cases.back();
    if (keyword == "grid") return Dimensions(launch.grid);
    if (keyword == "block") return Dimensions(launch.block);
    if (keyword == "cluster") return Dimensions(launch.cluster);
    if (keyword == "cooperative") {
      launch.cooperative = true;
      return Want(0);
    }
    if (keyword == "expect") return Expect(launch);
    if (keyword == "shared") {
      TRY_STATUS(Want(1));
      return Number(words_[0], launch.shared_bytes);
    }
    if (keyword == "arg") {
      TRY_STATUS(Want(1));
      launch.arguments.push_back(words_[0]);
    } else if (keyword == "constant") {
      TRY_STATUS(Want(2));
      launch.constants.emplace_back(words_[0], words_[1]);
    } else if (keyword == "stdout") {
      TRY_STATUS(Want(2));
      if (words_[0] != "exact" && words_[0] != "any-order") return Bad("stdout is exact or any-order");
      launch.stdout_rule = words_[0] == "exact" ? StdoutRule::kExact : StdoutRule::kAnyOrder;
      launch.stdout_path = words_[1];
    } else {
      return Bad("unknown keyword in a case");
    }
    return {};
  }

  // expect INDEX bits PATH | expect INDEX ulp N PATH | expect INDEX abs X PATH
  Status Expect(LaunchCase& launch) const {
    if (words_.size() < 3) return Bad("write expect INDEX bits PATH, or ulp N PATH, or abs X PATH");
    Expectation expectation;
    TRY_STATUS(Number(words_[0], expectation.argument));
    if (words_[1] == "bits") {
      TRY_STATUS(Want(3));
    } else {
      TRY_STATUS(Want(4));
      if (words_[1] != "ulp" && words_[1] != "abs") return Bad("rules are bits, ulp and abs");
      expectation.rule = words_[1] == "ulp" ? CompareRule::kUlp : CompareRule::kAbs;
      TRY_STATUS(Number(words_[2], expectation.tolerance));
    }
    expectation.path = words_.back();
    launch.expectations.push_back(std::move(expectation));
    return {};
  }

  Manifest& manifest_;
  std::string file_;
  std::string_view line_;
  uint32_t number_ = 0;
  std::vector<std::string> words_;
  std::string_view rest_;
  bool in_kernel_ = false, in_case_ = false;
};

std::string_view RoleName(ArgumentRole role) {
  switch (role) {
    case ArgumentRole::kScalar:
      return "value";
    case ArgumentRole::kIn:
      return "in";
    case ArgumentRole::kOut:
      return "out";
    case ArgumentRole::kInOut:
      return "inout";
    case ArgumentRole::kBytes:
      return "struct";
    case ArgumentRole::kTexture:
      return "texture";
    case ArgumentRole::kSurface:
      return "surface";
    case ArgumentRole::kTensor:
      return "tensor";
  }
  return "";
}

}  // namespace

const CorpusFile* Manifest::FindFile(std::string_view path) const {
  for (const CorpusFile& file : files)
    if (file.path == path) return &file;
  return nullptr;
}

const CorpusKernel* Manifest::FindKernel(std::string_view name) const {
  for (const CorpusKernel& kernel : kernels)
    if (kernel.name == name) return &kernel;
  return nullptr;
}

Result<Manifest> ReadManifest(const std::filesystem::path& path) {
  std::ifstream in(path);
  if (!in) return Fail(ErrorCode::kFile, "cannot read '" + path.string() + "'");
  Manifest manifest{.folder = path.parent_path()};
  ManifestReader reader(manifest, path.string());
  std::string line;
  for (uint32_t number = 1; std::getline(in, line); ++number) TRY_STATUS(reader.ReadLine(line, number));
  return manifest;
}

Result<std::vector<Argument>> ParseArguments(const Manifest& manifest, const CorpusKernel& kernel,
                                             const LaunchCase& launch) {
  const std::string where = kernel.name + "." + launch.name + ": ";
  if (launch.arguments.size() != kernel.parameters.size()) {
    return Fail(ErrorCode::kFile, where + "arguments and parameters differ in number");
  }
  std::vector<Argument> arguments;
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    const CorpusParameter& parameter = kernel.parameters[i];
    Argument argument = TRY(ParseSpec(launch.arguments[i], manifest.folder));
    const std::string type =
        argument.type ? std::string(argument.type->name) : std::to_string(argument.data.size());
    if (parameter.role != RoleName(argument.role) || parameter.type != type) {
      return Fail(ErrorCode::kFile, where + "argument '" + launch.arguments[i] + "' does not fit parameter " +
                                        parameter.name + " (" + parameter.role + " " + parameter.type + ")");
    }
    bool expected = false;
    for (const Expectation& expectation : launch.expectations) expected |= expectation.argument == i;
    if (expected != argument.IsWritten()) {
      return Fail(ErrorCode::kFile, where + "each written buffer, and nothing else, needs an expectation");
    }
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

Result<std::vector<std::byte>> ReadCorpusBytes(const Manifest& manifest, const std::string& path) {
  const std::filesystem::path full = manifest.folder / path;
  std::ifstream in(full, std::ios::binary | std::ios::ate);
  const std::streamoff size = in ? static_cast<std::streamoff>(in.tellg()) : -1;
  if (size < 0) return Fail(ErrorCode::kFile, "cannot read '" + full.string() + "'");
  std::vector<std::byte> data(static_cast<size_t>(size));
  in.seekg(0);
  if (!in.read(reinterpret_cast<char*>(data.data()), size)) {
    return Fail(ErrorCode::kFile, "cannot read '" + full.string() + "'");
  }
  return data;
}

}  // namespace ptx2cpu::rt
