// Cooperative launches: all blocks take turns, and grid barriers find their workspace.
#include "interpret_evaluate.h"

namespace ptx2cpu::ir::interpret_test {

namespace {

// Every thread counts itself at %at, then waits until all %count of them have; then it stores its number
// after the counter.
std::string MeetAt(const std::string& where) {
  return R"(kernel @k (out: i64 @0) phase simt {
^entry:
  %base = param_base
  %out = load i64 param %base
)" + where +
         R"(
  %grid = special i32 nctaid.x
  %block = special i32 ntid.x
  %count = mul i32 %grid, %block
  %one = const i32 1
  %before = atomic i32 add global release gpu %at, %one
  br ^wait
^wait:
  %seen = load i32 global volatile %at
  %all = icmp eq i32 %seen, %count
  cond_br %all, ^met, ^wait
^met:
  %c = special i32 ctaid.x
  %t = special i32 tid.x
  %rows = mul i32 %c, %block
  %number = add i32 %rows, %t
  %next = add i32 %number, %one
  %wide = zext i64 from i32 %next
  %two = const i32 2
  %offset = shl i64 %wide, %two
  %mine = add i64 %out, %offset
  store i32 global %mine, %next
  ret
}
)";
}

const std::string kInBuffer = "  %zero = const i64 0\n  %at = add i64 %out, %zero\n";
// As cooperative groups do it: the workspace's address is in two registers, and its second word counts.
const std::string kInWorkspace = R"(  %high = special i32 envreg #1
  %low = special i32 envreg #2
  %address = pack i64 from i32 %low, %high
  %four = const i64 4
  %at = add i64 %address, %four
)";

}  // namespace

TEST_CASE("interpret cooperative: blocks wait for blocks that come later") {
  const bool workspace = GENERATE(false, true);
  Program program(MeetAt(workspace ? kInWorkspace : kInBuffer));
  std::vector<uint32_t> out(1 + 5 * 40);
  program.AddBuffer(out);
  program.options.grid = {5, 1, 1};
  program.options.block = {40, 1, 1};
  program.options.cooperative = true;
  program.RunOrFail();
  CHECK(out[0] == (workspace ? 0u : 200u));
  for (uint32_t i = 1; i < out.size(); ++i) CHECK(out[i] == i);
}

TEST_CASE("interpret cooperative: clusters of blocks, too") {
  Program program(MeetAt(kInBuffer));
  std::vector<uint32_t> out(1 + 6 * 3);
  program.AddBuffer(out);
  program.options.grid = {6, 1, 1};
  program.options.block = {3, 1, 1};
  program.options.cluster = {2, 1, 1};
  program.options.cooperative = true;
  program.RunOrFail();
  for (uint32_t i = 1; i < out.size(); ++i) CHECK(out[i] == i);
}

TEST_CASE("interpret cooperative: in a plain launch, a block that waits lets the next ones begin") {
  Program program(MeetAt(kInBuffer));
  std::vector<uint32_t> out(1 + 3 * 2);
  program.AddBuffer(out);
  program.options.grid = {3, 1, 1};
  program.options.block = {2, 1, 1};
  program.RunOrFail();
  for (uint32_t i = 1; i < out.size(); ++i) CHECK(out[i] == i);
}

TEST_CASE("interpret cooperative: a plain launch has blocks in order and no workspace") {
  Program waits(MeetAt(kInBuffer));
  std::vector<uint32_t> out(1 + 2 * 32);
  waits.AddBuffer(out);
  waits.options.grid = {2, 1, 1};
  waits.options.block = {32, 1, 1};
  waits.options.instruction_limit = 100'000;
  CHECK(waits.RunToError().message.find("block (0,0,0)") != std::string::npos);

  Program counts(MeetAt(kInWorkspace));
  counts.AddBuffer(out);
  counts.options.allowed.push_back({});
  CHECK(counts.RunToError().message.find("address 0x4") != std::string::npos);
}

TEST_CASE("interpret cooperative: more blocks than are resident at once are refused") {
  Program program(MeetAt(kInBuffer));
  std::vector<uint32_t> out(1);
  program.AddBuffer(out);
  program.options.grid = {265, 1, 1};
  program.options.block = {1024, 1, 1};
  program.options.cooperative = true;
  const Error error = program.RunToError();
  CHECK(error.code == ErrorCode::kLaunch);
  CHECK(error.message.find("too large") != std::string::npos);
}

TEST_CASE("interpret cooperative: a deadlock names the block that waits") {
  Program program(R"(kernel @k (out: i64 @0) phase simt {
^entry:
  %c = special i32 ctaid.x
  %two = const i32 2
  %is = icmp eq i32 %c, %two
  cond_br %is, ^wait, ^end
^wait:
  %id = const i32 1
  %count = const i32 64
  barrier_block %id, %count ; ptx 7
  br ^end
^end:
  ret
}
)");
  std::vector<uint32_t> out(1);
  program.AddBuffer(out);
  program.options.grid = {4, 1, 1};
  program.options.block = {32, 1, 1};
  program.options.cooperative = true;
  const Error error = program.RunToError();
  CHECK(error.message.find("block (2,0,0)") != std::string::npos);
  CHECK(error.at.line == 7);
}

}  // namespace ptx2cpu::ir::interpret_test
