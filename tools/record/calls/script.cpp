#include "tools/record/calls/script.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <sstream>

namespace ptx2cpu::calls {

namespace {

using Words = std::vector<std::string>;

Words Split(const std::string& text, char separator = ' ') {
  Words words;
  std::istringstream in(text);
  for (std::string word; std::getline(in, word, separator);)
    if (!word.empty()) words.push_back(word);
  return words;
}

Result<std::vector<Statement>> ReadLines(const std::string& path) {
  std::ifstream in(path);
  if (!in) return Fail(ErrorCode::kFile, "cannot read " + path);
  std::vector<Statement> lines;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const Words words = Split(line.substr(0, line.find('#')));
    if (words.empty()) continue;
    if (words[0] != "include") {
      lines.push_back({number, words});
      continue;
    }
    auto included = ReadLines(path.substr(0, path.rfind('/') + 1) + words.at(1));
    if (!included) return included;
    lines.insert(lines.end(), included->begin(), included->end());
  }
  return lines;
}

// Sums and differences of products: "3*7+2".
std::string Evaluated(const std::string& word) {
  auto is_operator = [](char c) { return c == '+' || c == '-' || c == '*'; };
  const bool is_sum =
      word.size() > 2 && std::ranges::any_of(word.substr(1), is_operator) &&
      std::ranges::all_of(word, [&](char c) { return std::isdigit(c) != 0 || is_operator(c); }) &&
      std::isdigit(word.back()) != 0;
  if (!is_sum) return word;
  long sum = 0, product = 1, sign = 1;
  size_t place = 0;
  for (;;) {
    size_t used = 0;
    product *= std::stol(word.substr(place), &used);
    place += used;
    if (place < word.size() && word[place] == '*') {
      ++place;
      continue;
    }
    sum += sign * product;
    if (place == word.size()) return std::to_string(sum);
    sign = word[place++] == '-' ? -1 : 1;
    product = 1;
  }
}

class Expansion {
 public:
  explicit Expansion(std::vector<Statement> lines) : lines_(std::move(lines)) {}

  Result<std::vector<Group>> Run() {
    Block(0, lines_.size());
    if (!error_.empty()) return ptx2cpu::Fail(ErrorCode::kSyntax, error_);
    if (groups_.empty()) groups_.push_back({"all", prelude_});
    return std::move(groups_);
  }

 private:
  void Fail(const Statement& at, const std::string& what) {
    if (error_.empty()) error_ = "line " + std::to_string(at.line) + ": " + what;
  }

  // The words with names replaced; a name of several words becomes these.
  Words Replaced(const Statement& statement) {
    Words words;
    for (std::string word : statement.words) {
      for (size_t at; (at = word.rfind('$')) != std::string::npos;) {
        const bool braced = at + 1 < word.size() && word[at + 1] == '{';
        const size_t begin = at + (braced ? 2 : 1);
        size_t end = begin;
        while (end < word.size() && (std::isalnum(word[end]) != 0 || word[end] == '_')) ++end;
        // Without braces, the longest name that is known.
        while (!braced && end > begin + 1 && !names_.contains(word.substr(begin, end - begin))) --end;
        const auto found = names_.find(word.substr(begin, end - begin));
        if (found == names_.end()) {
          Fail(statement, "unknown name in " + word);
          return {};
        }
        word = word.substr(0, at) + found->second + word.substr(end + (braced ? 1 : 0));
      }
      for (const std::string& part : Split(word)) words.push_back(Evaluated(part));
    }
    return words;
  }

  size_t EndOf(size_t begin) {
    int depth = 1;
    for (size_t i = begin + 1; i < lines_.size(); ++i) {
      const std::string& word = lines_[i].words[0];
      if (word == "for" || word == "if" || word == "unless") ++depth;
      if (word == "end" && --depth == 0) return i;
    }
    Fail(lines_[begin], "without end");
    return lines_.size();
  }

  void Loop(const Words& words, size_t begin, size_t end) {
    const Words names = Split(words.at(1), ',');
    for (size_t item = 3; item < words.size(); ++item) {
      const Words values = Split(words[item], ',');
      if (values.size() != names.size()) return Fail(lines_[begin], "values for " + words[item]);
      for (size_t i = 0; i < names.size(); ++i) names_[names[i]] = values[i];
      Block(begin + 1, end);
    }
  }

  void Block(size_t begin, size_t end) {
    for (size_t i = begin; i < end && error_.empty(); ++i) {
      const Words words = Replaced(lines_[i]);
      if (words.empty()) continue;
      if (words[0] == "let") {
        std::string value;
        for (size_t k = 2; k < words.size(); ++k) value += (k > 2 ? " " : "") + words[k];
        names_[words.at(1)] = value;
      } else if (words[0] == "group") {
        groups_.push_back({words.at(1), prelude_});
      } else if (words[0] == "for" || words[0] == "if" || words[0] == "unless") {
        const size_t last = EndOf(i);
        if (words[0] == "for") {
          Loop(words, i, last);
        } else if ((std::find(words.begin() + 3, words.end(), words.at(1)) != words.end()) ==
                   (words[0] == "if")) {
          Block(i + 1, last);
        }
        i = last;
      } else {
        (groups_.empty() ? prelude_ : groups_.back().statements).push_back({lines_[i].line, words});
      }
    }
  }

  std::vector<Statement> lines_, prelude_;
  std::map<std::string, std::string> names_;
  std::vector<Group> groups_;
  std::string error_;
};

}  // namespace

Result<std::vector<Group>> ReadScript(const std::string& path) {
  return Expansion(TRY(ReadLines(path))).Run();
}

}  // namespace ptx2cpu::calls
