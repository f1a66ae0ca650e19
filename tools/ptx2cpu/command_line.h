// The command line as tables: verbs and their options. Help, the manual page and shell completion are made
// from them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/result.h"

namespace ptx2cpu::tool {

struct Option {
  std::string_view name;   // "--grid"; a single letter alias follows a comma: "--output,-o"
  std::string_view value;  // "X[,Y,Z]"; empty: a switch
  std::string_view help;
  bool repeats = false;

  std::string_view LongName() const { return name.substr(0, name.find(',')); }
  std::string_view ShortName() const {  // empty: none
    const size_t comma = name.find(',');
    return comma == std::string_view::npos ? std::string_view{} : name.substr(comma + 1);
  }
};

// The options and plain arguments of one call, checked against a verb's table.
class Arguments {
 public:
  bool Has(std::string_view option) const { return Value(option).has_value(); }
  std::optional<std::string> Value(std::string_view option) const;  // the last one; "" for a switch
  std::vector<std::string> Values(std::string_view option) const;
  const std::vector<std::string>& plain() const { return plain_; }
  // The one plain argument a verb takes; kUsage error otherwise.
  Result<std::string> OnlyFile() const;
  // A non-negative number; kUsage error naming the option otherwise.
  Result<uint64_t> Number(std::string_view option, uint64_t otherwise, uint64_t most = ~0ull) const;

  // kCommandFollows: what follows "--", or begins with the first plain argument, is a command line of its
  // own.
  enum class Words : uint8_t { kAll, kCommandFollows };
  static Result<Arguments> Parse(std::span<const Option> options, std::span<const char* const> words,
                                 Words form = Words::kAll);

 private:
  std::vector<std::pair<std::string_view, std::string>> options_;
  std::vector<std::string> plain_;
};

struct Verb {
  std::string_view name;
  std::string_view usage;        // after "ptx2cpu NAME "
  std::string_view summary;      // one line
  std::string_view description;  // paragraphs
  std::span<const Option> options;
  Status (*run)(const Arguments&);  // null: in the object with the compiler
  Arguments::Words words = Arguments::Words::kAll;
};

// All verbs, in the order of the help.
std::span<const Verb> Verbs();

std::string RenderHelp();
std::string RenderHelp(const Verb& verb);
std::string RenderManualPage();  // roff, section 1
std::string RenderBashCompletion();

}  // namespace ptx2cpu::tool
