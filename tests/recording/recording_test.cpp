// Recordings as files (runtime/recording): what is written is read again, equal contents are stored once,
// damage is an error, and differences name the element.
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <locale>
#include <sstream>

#include "runtime/recording/compare.h"
#include "runtime/recording/difference.h"
#include "runtime/recording/replay.h"
#include "runtime/recording/writer.h"
#include "tests/scratch_folder.h"

using namespace ptx2cpu;
using namespace ptx2cpu::rt::recording;
namespace fs = std::filesystem;
using Catch::Matchers::Contains;

namespace {

std::vector<std::byte> Numbered(size_t bytes, unsigned seed) {
  std::vector<std::byte> contents(bytes);
  for (size_t i = 0; i < bytes; ++i) contents[i] = static_cast<std::byte>((i * 31 + seed) >> (i % 3));
  return contents;
}

template <typename T>
T Good(Result<T> result) {
  if (!result) FAIL(result.error().Render());
  return *std::move(result);
}

void Good(const Status& status) {
  if (!status) FAIL(status.error().Render());
}

const std::string kPtx =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry nothing() { ret; }\n";

LaunchRecord LaunchOf(Writer& writer, uint64_t number, std::vector<std::vector<std::byte>> before,
                      std::vector<std::vector<std::byte>> after, uint64_t base) {
  LaunchRecord launch;
  launch.number = number;
  launch.kernel = "nothing";
  launch.module = Good(writer.AddModule(std::vector<rt::PtxText>{{kPtx, "a name\nof two lines%"}}, true));
  launch.shape = {{3, 2, 1}, {4, 5, 6}, 7, {1, 2, 3}};
  launch.parameters = Numbered(11, 1);
  launch.places = {{"table of all", 0x123456789abc}};
  for (size_t i = 0; i < before.size(); ++i) {
    launch.areas.push_back({base, before[i].size(), i + 1, "device memory",
                            Good(writer.AddBytes(before[i], true)), Good(writer.AddBytes(after[i], false))});
    base += 1 << 24;
  }
  return launch;
}

}  // namespace

TEST_CASE("recording: launches, modules and memory are read as they were written") {
  const test::ScratchFolder folder;
  const auto large = Numbered(3 * kBlockBytes + 17, 5), small = Numbered(9, 2), changed = Numbered(9, 3);
  {
    Writer writer = Good(Writer::Make(folder.path() / "deep" / "down", "program with words"));
    Good(writer.AddLaunch(LaunchOf(writer, 4, {large, small}, {large, changed}, 0x7f0000000000)));
    Good(writer.AddLaunch(LaunchOf(writer, 5, {large, changed}, {large, small}, 0x7f0000000000)));
  }
  const Reader reader = Good(Reader::Open(folder.path() / "deep" / "down"));
  CHECK(reader.folder() == folder.path() / "deep" / "down" / "process_0");
  const Records& records = reader.records();
  CHECK(records.program == "program with words");
  REQUIRE(records.modules.size() == 1);  // the same text twice
  CHECK(records.modules[0].contract);
  const auto texts = Good(reader.TextsOf(records.modules[0]));
  REQUIRE(texts.size() == 1);
  CHECK(texts[0].text == kPtx);
  CHECK(texts[0].name == "a name\nof two lines%");
  REQUIRE(records.launches.size() == 2);
  const LaunchRecord& launch = records.launches[0];
  CHECK(launch.number == 4);
  CHECK(launch.kernel == "nothing");
  CHECK(launch.shape.grid.y == 2);
  CHECK(launch.shape.block.z == 6);
  CHECK(launch.shape.cluster.z == 3);
  CHECK(launch.shape.dynamic_shared_bytes == 7);
  CHECK(launch.parameters == Numbered(11, 1));
  REQUIRE(launch.places.size() == 1);
  CHECK(launch.places[0].name == "table of all");
  CHECK(launch.places[0].address == 0x123456789abc);
  REQUIRE(launch.areas.size() == 2);
  CHECK(launch.areas[0].address == 0x7f0000000000);
  CHECK(Good(ContentsOf(reader.blocks(), launch.areas[0], launch.areas[0].before)) == large);
  // Only hashed, but the next launch began with it.
  CHECK(Good(ContentsOf(reader.blocks(), launch.areas[1], launch.areas[1].after)) == changed);
}

TEST_CASE("recording: numbers are written alike under any locale of the program") {
  struct Grouping : std::numpunct<char> {
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  const test::ScratchFolder folder;
  const auto contents = Numbered(4321, 5);
  const std::locale before = std::locale::global(std::locale(std::locale(), new Grouping));
  {
    Writer writer = Good(Writer::Make(folder.path(), "program"));
    Good(writer.AddLaunch(LaunchOf(writer, 1234567, {contents}, {contents}, 0x7f0000000000)));
  }
  std::locale::global(before);  // as `ptx2cpu replay` has it
  const Reader reader = Good(Reader::Open(folder.path()));
  REQUIRE(reader.records().launches.size() == 1);
  const LaunchRecord& launch = reader.records().launches[0];
  CHECK(launch.number == 1234567);
  REQUIRE(launch.areas.size() == 1);
  CHECK(launch.areas[0].bytes == 4321);
  CHECK(Good(ContentsOf(reader.blocks(), launch.areas[0], launch.areas[0].before)) == contents);
}

TEST_CASE("recording: equal blocks are stored once") {
  const test::ScratchFolder folder;
  Writer writer = Good(Writer::Make(folder.path(), "p"));
  const std::vector<std::byte> zeros(64 * kBlockBytes);
  const auto numbers = Good(writer.AddBytes(zeros, true));
  CHECK(numbers.size() == 64);
  CHECK(numbers == std::vector<uint32_t>(64, numbers[0]));
  Good(writer.AddLaunch(LaunchOf(writer, 0, {zeros}, {zeros}, 0x10000000)));
  CHECK(fs::file_size(folder.path() / "process_0" / "blocks.zst") < 1000);
  CHECK(fs::file_size(folder.path() / "process_0" / "recording.txt") < 1000);  // a run of one number
}

TEST_CASE("recording: each process has a folder of its own") {
  const test::ScratchFolder folder;
  Good(Writer::Make(folder.path(), "one"));
  Good(Writer::Make(folder.path(), "two"));
  CHECK(Good(Reader::Open(folder.path())).records().program == "one");
  CHECK(Good(Reader::Open(folder.path() / "process_1")).records().program == "two");
}

TEST_CASE("recording: a process that died leaves the launches that had ended; damage is an error") {
  const test::ScratchFolder folder;
  const fs::path own = folder.path() / "process_0";
  {
    Writer writer = Good(Writer::Make(folder.path(), "p"));
    Good(writer.AddLaunch(LaunchOf(writer, 0, {Numbered(100, 1)}, {Numbered(100, 1)}, 0x10000000)));
    Good(writer.AddLaunch(LaunchOf(writer, 1, {Numbered(100, 2)}, {Numbered(100, 3)}, 0x10000000)));
  }
  std::ifstream in(own / "recording.txt");
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  const size_t second = whole.find("launch 1");
  for (size_t size = second; size < whole.size(); ++size) {
    std::ofstream(own / "recording.txt") << whole.substr(0, size);
    const auto reader = Reader::Open(folder.path());
    INFO(size << "\n" << whole.substr(second, size - second));
    // A cut number is a line without an end.
    REQUIRE(reader);
    CHECK(reader->records().launches.size() == 1);
  }
  std::string wrong = whole;
  wrong.replace(second, 8, "lounge 1");
  std::ofstream(own / "recording.txt") << wrong;
  const auto reader = Reader::Open(folder.path());
  REQUIRE_FALSE(reader);
  CHECK(reader.error().code == ErrorCode::kContainer);
  CHECK_THAT(reader.error().Render(), Contains("lounge 1"));
  std::ofstream(own / "recording.txt") << whole;
  std::string packed;
  {
    std::ifstream blocks(own / "blocks.zst", std::ios::binary);
    packed = {std::istreambuf_iterator<char>(blocks), {}};
  }
  packed[packed.size() / 4] = static_cast<char>(packed[packed.size() / 4] ^ 1);
  std::ofstream(own / "blocks.zst", std::ios::binary) << packed;
  const Reader damaged = Good(Reader::Open(folder.path()));
  const Area& area = damaged.records().launches[0].areas[0];
  const auto contents = ContentsOf(damaged.blocks(), area, area.before);
  REQUIRE_FALSE(contents);
  CHECK(contents.error().code == ErrorCode::kContainer);
  CHECK(Reader::Open(folder.path() / "nothing").error().code == ErrorCode::kFile);
}

TEST_CASE("recording: a difference names the first element as i32, f32 and f64, with its distance") {
  std::vector<std::byte> a(40), b(40);
  CHECK_FALSE(rt::recording::Compare(a, b));
  const float one = 1.5f, other = 1.25f;
  std::memcpy(&a[12], &one, sizeof one);
  std::memcpy(&b[12], &other, sizeof other);
  b[38] = std::byte{1};
  const auto difference = rt::recording::Compare(a, b);
  REQUIRE(difference);
  CHECK(difference->offset == 14);
  CHECK(difference->words == 2);
  const std::string text = DescribeElement(a, b, difference->offset);
  CHECK_THAT(text, Contains("i32 1069547520, now 1067450368: off by -2097152"));
  CHECK_THAT(text, Contains("f32 1.5, now 1.25: off by -0.25 (2097152 units in the last place)"));
  CHECK_THAT(text, Contains("f64 "));
  std::vector<std::byte> tail(3), end(3);
  end[2] = std::byte{7};
  CHECK(DescribeElement(tail, end, 2) == "    byte 0, now 7\n");
  // Both zeros are one number, and the smallest numbers of both signs are two apart.
  const auto units = [](uint32_t from, uint32_t to) {
    std::vector<std::byte> x(4), y(4);
    std::memcpy(x.data(), &from, 4);
    std::memcpy(y.data(), &to, 4);
    return DescribeElement(x, y, 0);
  };
  CHECK_THAT(units(0, 0x80000000), Contains("(0 units"));
  CHECK_THAT(units(1, 0x80000001), Contains("(2 units"));
}

TEST_CASE(
    "recording: two recordings differ in outputs, inputs, parameters or shape; addresses may be others") {
  const test::ScratchFolder folder;
  const auto input = Numbered(3 * kBlockBytes, 1);
  auto output = input;
  output[kBlockBytes + 8] ^= std::byte{1};
  // A word of the first area that points 16 bytes into the second.
  const auto with_pointer = [&](std::vector<std::byte> contents, uint64_t base) {
    const uint64_t pointer = base + (1 << 24) + 16;
    std::memcpy(&contents[64], &pointer, sizeof pointer);
    return contents;
  };
  const auto record = [&](const std::string& name, uint64_t base, const std::vector<std::byte>& before,
                          const std::vector<std::byte>& after) {
    Writer writer = Good(Writer::Make(folder.path() / name, "p"));
    const auto small = Numbered(32, 9);
    Good(writer.AddLaunch(
        LaunchOf(writer, 0, {with_pointer(before, base), small}, {with_pointer(after, base), small}, base)));
    Good(writer.AddLaunch(
        LaunchOf(writer, 1, {with_pointer(after, base), small}, {with_pointer(after, base), small}, base)));
    return folder.path() / name;
  };
  const Reader a = Good(Reader::Open(record("a", 0x7f0000000000, input, input)));
  const Reader elsewhere = Good(Reader::Open(record("b", 0x7e0000000000, input, input)));
  CHECK(Good(FirstDifference(a, elsewhere)) == std::nullopt);
  const Reader outputs = Good(Reader::Open(record("c", 0x7e0000000000, input, output)));
  const std::string text = Good(FirstDifference(a, outputs)).value_or("");
  CHECK_THAT(text, Contains("launch 0: nothing of 3x2x1 blocks of 4x5x6 threads: its outputs differ"));
  CHECK_THAT(text, Contains("0x7f0000010008 (device memory 1 at 0x7f0000000000, of 196608 bytes, + 65544)"));
  CHECK_THAT(text, Contains("in the other 0x7e0000010008"));
  CHECK_THAT(text, Contains("off by"));
  const Reader inputs = Good(Reader::Open(record("d", 0x7e0000000000, output, output)));
  CHECK_THAT(Good(FirstDifference(a, inputs)).value_or(""),
             Contains("memory before it differs: the program or a copy wrote it"));
}

TEST_CASE("replay memory: recorded addresses, and what is around them; an address in use is refused") {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* const free = mmap(nullptr, 16 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(free != MAP_FAILED);
  const auto base = reinterpret_cast<uint64_t>(free) + (8 << 20);
  LaunchRecord launch;
  launch.areas = {{base + 100, 10, 1, "device memory", {}, {}},
                  {base + 3 * page, 2 * page, 2, "array", {}, {}}};
  const std::vector<LaunchRecord> launches = {launch};
  const auto taken = ReplayMemory::Reserve(launches);
  REQUIRE_FALSE(taken);
  CHECK(taken.error().code == ErrorCode::kNotFound);
  munmap(free, 16 << 20);
  ReplayMemory memory = Good(ReplayMemory::Reserve(launches));
  for (const uint64_t address :
       {base + 100, base + 5 * page - 1, base - page, base + page, base + (1 << 20)}) {
    auto& byte = *reinterpret_cast<volatile char*>(address);
    CHECK(byte == 0);
    byte = 1;
  }
  Good(memory.Clear());
  CHECK(*reinterpret_cast<volatile char*>(base + 100) == 0);
  CHECK(*reinterpret_cast<volatile char*>(base + page) == 0);
}
