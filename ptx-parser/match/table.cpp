#include "ptx-parser/match/table.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <ranges>
#include <unordered_map>

#include "ir/result.h"
#include "ptx-parser/match/form_reader.h"

namespace ptx2cpu::ptx {

namespace {

struct RawRow {
  std::string_view name, family, section, syntax, definitions;
  bool translated;
};
constexpr RawRow kRows[] = {
#define ROW(name, family, section, syntax, definitions) {#name, #family, section, syntax, definitions, true},
#define ROW_PARSE_ONLY(name, family, section, syntax, definitions) \
  {#name, #family, section, syntax, definitions, false},
#define GROUP(name, words)
#include "ptx-parser/match/instructions.def"
#undef ROW
#undef ROW_PARSE_ONLY
#undef GROUP
};
constexpr std::pair<std::string_view, std::string_view> kGroups[] = {
#define ROW(name, family, section, syntax, definitions)
#define ROW_PARSE_ONLY(name, family, section, syntax, definitions)
#define GROUP(name, words) {name, words},
#include "ptx-parser/match/instructions.def"
#undef ROW
#undef ROW_PARSE_ONLY
#undef GROUP
};

// "add" of `[isa<1.4] add{.sat}.type d, a, b`.
std::string_view BaseOf(std::string_view form) {
  while (form.starts_with("[")) form = Trim(form.substr(std::min(form.find(']'), form.size() - 1) + 1));
  return form.substr(0, form.find_first_of(".{ "));
}

// A row's forms are read when they are first asked for: a process meets few of the rows, and reading all of
// them takes as long as compiling a small kernel.
class Table {
 public:
  Table() : read_(std::make_unique<std::once_flag[]>(std::size(kRows))) {
    for (auto [name, words] : kGroups) {
      for (std::string_view word : Split(words, ' ')) shared_[std::string(name)].emplace_back(word);
    }
    rows_.reserve(std::size(kRows));
    for (const RawRow& raw : kRows) {
      const auto id = static_cast<RowId>(rows_.size());
      for (std::string_view form : Split(raw.syntax, ';')) {
        std::vector<RowId>& rows = bases_[BaseOf(form)].rows;
        if (rows.empty() || rows.back() != id) rows.push_back(id);
      }
      rows_.push_back({raw.name, raw.family, raw.section, raw.syntax, raw.definitions, raw.translated, {}});
    }
  }

  const Row& At(RowId id) {
    const auto number = static_cast<size_t>(id);
    Row& row = rows_[number];
    std::call_once(read_[number], [&] {
      const Groups own = ReadDefinitions(row.definitions);
      for (std::string_view form : Split(row.syntax, ';'))
        row.forms.push_back(ReadForm(id, form, own, shared_));
    });
    return row;
  }

  std::span<const Row> All() {
    std::call_once(all_read_, [&] {
      for (size_t i = 0; i < rows_.size(); ++i) At(static_cast<RowId>(i));
      CheckWords();
    });
    return rows_;
  }

  std::span<const Form* const> FormsOf(std::string_view name) {
    const auto found = bases_.find(name);
    if (found == bases_.end()) return {};
    Base& base = found->second;
    std::call_once(base.read, [&] {
      for (RowId id : base.rows) {
        for (const Form& form : At(id).forms) {
          if (form.base == name) base.forms.push_back(&form);
        }
      }
    });
    return base.forms;
  }

  auto Bases() const { return bases_ | std::views::keys; }

 private:
  struct Base {
    std::vector<RowId> rows;  // that have forms of it, in order
    std::once_flag read;
    std::vector<const Form*> forms;
  };

  void CheckWords() const {
    std::unordered_map<uint32_t, std::string> seen;
    for (const Row& row : rows_) {
      for (const Form& form : row.forms) {
        for (const Element& element : form.elements) {
          for (const std::string& word : element.words) {
            auto [it, fresh] = seen.emplace(Word(std::string_view(word)).hash, word);
            CHECK(fresh || it->second == word,
                  "words of instructions.def collide: " + word + " " + it->second);
          }
        }
      }
    }
  }

  Groups shared_;
  std::vector<Row> rows_;
  const std::unique_ptr<std::once_flag[]> read_;  // of each row
  std::once_flag all_read_;
  std::map<std::string_view, Base> bases_;
};

Table& TheTable() {
  static Table table;
  return table;
}

}  // namespace

const Row& Info(RowId row) { return TheTable().At(row); }
std::span<const Row> Rows() { return TheTable().All(); }
std::span<const Form* const> FormsOf(std::string_view base) { return TheTable().FormsOf(base); }

std::string_view NearestMnemonic(std::string_view word) {
  std::string_view best;
  if (word.size() > 40) return best;
  size_t distance = 3;  // beyond two edits a suggestion misleads
  for (std::string_view base : TheTable().Bases()) {
    if (size_t d = EditDistance(word, base); d < distance && d < word.size()) {
      distance = d;
      best = base;
    }
  }
  return best;
}

}  // namespace ptx2cpu::ptx
