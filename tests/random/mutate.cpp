#include "tests/random/mutate.h"

#include <algorithm>
#include <random>
#include <sstream>
#include <string_view>
#include <vector>

namespace ptx2cpu::random_test {

namespace {

// Words of one group take each other's place.
const std::vector<std::vector<std::string_view>> kGroups = {
    {"add.u32", "sub.u32", "and.b32", "or.b32", "xor.b32", "mul.lo.u32", "mul.hi.u32", "min.u32", "max.s32",
     "shl.b32", "shr.u32", "shr.s32", "div.u32", "rem.s32"},
    {"mad.lo.u32", "mad.hi.s32", "sad.u32"},
    {"not.b32", "neg.s32", "popc.b32", "clz.b32", "brev.b32", "abs.s32", "mov.u32"},
    {"setp.lt.u32", "setp.ge.u32", "setp.eq.u32", "setp.ne.u32", "setp.lt.s32", "setp.gt.s32"},
    {"shfl.sync.idx.b32", "shfl.sync.up.b32", "shfl.sync.down.b32", "shfl.sync.bfly.b32"},
    {"vote.sync.all.pred", "vote.sync.any.pred", "vote.sync.uni.pred"},
    {"redux.sync.add.u32", "redux.sync.min.u32", "redux.sync.max.s32", "redux.sync.xor.b32"},
    {"atom.global.add.u32", "atom.global.min.u32", "atom.global.xor.b32"},
    {"%tid.x", "%laneid", "%ctaid.x", "%ntid.x", "%nctaid.x"},
};

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '%' || c == '_' ||
         c == '.';
}

class Mutator {
 public:
  Mutator(const std::string& module, uint64_t seed) : random_(seed * 0x9E3779B97F4A7C15) {
    std::istringstream in(module);
    for (std::string line; std::getline(in, line);) lines_.push_back(line);
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (IsInstruction(lines_[i])) instructions_.push_back(i);
    }
  }

  std::string Change() {
    const size_t changes = 1 + random_() % 4;
    for (size_t n = 0; n < changes && !instructions_.empty(); ++n) ChangeLine(PickLine());
    std::string text;
    for (const std::string& line : lines_) text += line + "\n";
    return text;
  }

 private:
  // Instructions that compute, except those for the kernel's own addresses and the end.
  static bool IsInstruction(std::string_view line) {
    const size_t first = line.find_first_not_of(' ');
    if (first == std::string_view::npos || first == 0 || !line.ends_with(';')) return false;
    const std::string_view text = line.substr(first);
    return text[0] != '.' && !text.starts_with("ld.param") && !text.starts_with("st.param") &&
           !text.starts_with("exit") && !text.starts_with("ret") && !text.starts_with("call");
  }

  std::string& PickLine() { return lines_[instructions_[random_() % instructions_.size()]]; }

  void ChangeLine(std::string& line) {
    if (line.empty()) return;
    switch (random_() % 10) {
      case 0:
        line.clear();
        break;
      case 1:
        line += " " + line;
        break;
      case 2:
        std::swap(line, PickLine());
        break;
      case 3:
        ChangeGuard(line);
        break;
      case 4:
      case 5:
      case 6:
        ChangeWord(line);
        break;
      default:
        ChangeOperand(line);
    }
  }

  static void ChangeGuard(std::string& line) {
    if (const size_t at = line.find("@!"); at != std::string::npos) {
      line.erase(at + 1, 1);
    } else if (const size_t plain = line.find('@'); plain != std::string::npos) {
      line.insert(plain + 1, "!");
    }
  }

  void ChangeWord(std::string& line) {
    for (const auto& group : kGroups) {
      for (const std::string_view word : group) {
        const size_t at = line.find(word);
        if (at == std::string::npos) continue;
        line.replace(at, word.size(), group[random_() % group.size()]);
        return;
      }
    }
  }

  // A register by one of its type, or a constant by another one.
  void ChangeOperand(std::string& line) {
    std::vector<std::pair<size_t, size_t>> tokens;
    for (size_t at = line.find(' ', line.find_first_not_of(' ')); at < line.size();) {
      size_t end = at;
      while (end < line.size() && IsNameCharacter(line[end])) ++end;
      if (end > at && (IsWord(line.substr(at, end - at)) || IsNumber(line.substr(at, end - at))))
        tokens.emplace_back(at, end - at);
      at = std::max(end, at + 1);
    }
    if (tokens.empty() || line.find("bra") != std::string::npos) return;
    const auto [at, size] = tokens[random_() % tokens.size()];
    const std::string token = line.substr(at, size);
    line.replace(at, size, IsNumber(token) ? AnotherNumber(token) : AnotherRegister(token));
  }

  // Registers of 32 bits and predicates; addresses stay what they are.
  static bool IsWord(std::string_view token) {
    if (token.starts_with("%p")) return true;
    for (const std::string_view name : {"%h", "%cur", "%wcur", "%trip", "%me", "%lane", "%warp", "%own"}) {
      if (token == name) return true;
    }
    return token.starts_with("%r");
  }
  static bool IsNumber(std::string_view token) { return token[0] >= '0' && token[0] <= '9'; }

  std::string AnotherNumber(const std::string& number) {
    const uint32_t choices[] = {
        0, 1, 2, 31, 32, 33, 0x80000000, 0xffffffff, static_cast<uint32_t>(random_())};
    if (random_() % 3 == 0) return number;
    return std::to_string(choices[random_() % std::size(choices)]);
  }

  std::string AnotherRegister(const std::string& name) {
    std::vector<std::string> same;
    for (const size_t index : instructions_) {
      const std::string& line = lines_[index];
      for (size_t at = line.find('%'); at != std::string::npos; at = line.find('%', at + 1)) {
        size_t end = at + 1;
        while (end < line.size() && IsNameCharacter(line[end])) ++end;
        const std::string found = line.substr(at, end - at);
        if (IsWord(found) && found.starts_with("%p") == name.starts_with("%p")) same.push_back(found);
      }
    }
    return same.empty() ? name : same[random_() % same.size()];
  }

  std::mt19937_64 random_;
  std::vector<std::string> lines_;
  std::vector<size_t> instructions_;  // numbers of lines
};

}  // namespace

std::string Mutate(const std::string& module, uint64_t seed) { return Mutator(module, seed).Change(); }

}  // namespace ptx2cpu::random_test
