// The words of CONTRIBUTING's glossary: phrases that pages, headers and messages do not use, because a plain
// technical one exists. A phrase is a sequence of words; case and line breaks do not matter.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fs = std::filesystem;

namespace {

const fs::path kRoot = PTX2CPU_SOURCE_DIR;

struct Phrase {
  std::string_view words;
  std::string_view instead;
};

constexpr Phrase kPhrases[] = {
    {"stand", "appear, be"},
    {"stands", "appears, is"},
    {"stood", "appeared, was"},
    {"behind", "after, below, in"},
    {"tell", "report, name, list"},
    {"tells", "reports, names, lists"},
    {"told", "reported, given"},
    {"say", "report, state, name"},
    {"says", "reports, states, names"},
    {"said", "reported, stated, named"},
    {"circle", "cycle"},
    {"circles", "cycles"},
    {"that there is", "that exists"},
    {"that there are", "that exist"},
    {"can not", "cannot"},
    {"but 0", "other than 0, except 0"},
    {"taken for", "treated as, counted as"},
    {"takes for", "treats as"},
    {"by itself", "on its own, automatically"},
    {"by themselves", "on their own, automatically"},
    {"nobody", "no thread, no program"},
    {"whoever", "the thread that, the code that"},
    {"go on", "continue"},
    {"goes on", "continues"},
    {"at hand", "known, available, current"},
};

// A phrase is right in these sentences: the words around it, in lower case, as the page has them.
constexpr std::string_view kAllowed[] = {
    "circle of radius",  // the figure
};

struct Word {
  std::string text;
  size_t line;
};

void AddWords(std::string_view text, size_t line, std::vector<Word>& words) {
  std::string word;
  for (const char c : text) {
    const unsigned char u = static_cast<unsigned char>(c);
    if (std::isalnum(u) || c == '_' || c == '\'') {
      word += static_cast<char>(std::tolower(u));
      continue;
    }
    if (!word.empty()) words.push_back({std::exchange(word, {}), line});
    if (c == '\n') ++line;
    // A full stop ends a phrase; punctuation within a sentence does not matter.
    if (c == '.' || c == ';' || c == ':') words.push_back({".", line});
  }
  if (!word.empty()) words.push_back({word, line});
}

// Pages: without code blocks, `code` and the glossary's own table.
std::vector<Word> WordsOfPage(const fs::path& page) {
  std::ifstream in(kRoot / page);
  std::vector<Word> words;
  bool code = false, glossary = false;
  size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.starts_with("```")) code = !code;
    if (line.starts_with("## ")) glossary = line == "## Glossary";
    if (code || line.starts_with("    ") || (glossary && line.starts_with("|"))) continue;
    bool quoted = false;
    std::string text;
    for (const char c : line) {
      if (c == '`') quoted = !quoted;
      text += quoted ? '_' : c;
    }
    AddWords(text, number, words);
  }
  return words;
}

// What a source writes for people: string literals, and in headers and tables also comments. Raw strings are
// PTX and the like.
std::vector<Word> WordsOfSource(std::string_view text, bool comments) {
  std::vector<Word> words;
  size_t line = 1;
  bool joins = false;  // "a" "b" is one literal
  for (size_t at = 0; at < text.size();) {
    const auto until = [&](std::string_view end, size_t from) {
      const size_t found = text.find(end, from);
      return found == std::string_view::npos ? text.size() : found + end.size();
    };
    size_t end = at + 1;
    bool prose = false;
    if (text.substr(at).starts_with("//")) {
      end = until("\n", at) - 1;
      prose = comments;
    } else if (text.substr(at).starts_with("/*")) {
      end = until("*/", at + 2);
      prose = comments;
    } else if (text.substr(at).starts_with("R\"")) {
      const size_t open = text.find('(', at);
      end = until(")" + std::string(text.substr(at + 2, open - at - 2)) + "\"", open);
    } else if (text[at] == '"' || (text[at] == '\'' && !(at > 0 && std::isalnum(text[at - 1])))) {
      while (end < text.size() && text[end] != text[at]) end += text[end] == '\\' ? 2 : 1;
      prose = text[at] == '"';
      end = std::min(end + 1, text.size());
    }
    if (prose) {
      const bool continues = joins && text[at] == '"';
      if (!continues && !text.substr(at).starts_with("//")) words.push_back({".", line});
      AddWords(text.substr(at, end - at), line, words);
      joins = true;
    } else if (!std::isspace(static_cast<unsigned char>(text[at]))) {
      joins = false;
      words.push_back({".", line});
    }
    line += static_cast<size_t>(std::count(text.begin() + static_cast<ptrdiff_t>(at),
                                           text.begin() + static_cast<ptrdiff_t>(std::min(end, text.size())),
                                           '\n'));
    at = end;
  }
  return words;
}

std::vector<fs::path> Files(const std::vector<std::string>& tops,
                            const std::vector<std::string>& extensions) {
  std::vector<fs::path> files;
  for (const std::string& top : tops) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / top)) {
      const std::string extension = entry.path().extension();
      if (entry.is_regular_file() &&
          std::find(extensions.begin(), extensions.end(), extension) != extensions.end())
        files.push_back(fs::relative(entry.path(), kRoot));
    }
  }
  return files;
}

std::string TextOf(const fs::path& file) {
  std::ifstream in(kRoot / file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

bool Matches(const std::vector<Word>& words, size_t at, const std::vector<Word>& phrase) {
  if (at + phrase.size() > words.size()) return false;
  for (size_t i = 0; i < phrase.size(); ++i) {
    if (words[at + i].text != phrase[i].text) return false;
  }
  return true;
}

std::vector<Word> Split(std::string_view phrase) {
  std::vector<Word> words;
  AddWords(phrase, 0, words);
  return words;
}

struct Found {
  size_t line;
  const Phrase* phrase;
};

bool IsAllowed(const std::vector<Word>& words, size_t at) {
  return std::any_of(std::begin(kAllowed), std::end(kAllowed), [&](std::string_view allowed) {
    const std::vector<Word> phrase = Split(allowed);
    for (size_t back = 0; back < phrase.size() && back <= at; ++back) {
      if (Matches(words, at - back, phrase)) return true;
    }
    return false;
  });
}

std::vector<Found> Find(const std::vector<Word>& words) {
  static const auto kSplit = [] {
    std::vector<std::vector<Word>> split;
    for (const Phrase& phrase : kPhrases) split.push_back(Split(phrase.words));
    return split;
  }();
  std::vector<Found> found;
  for (size_t at = 0; at < words.size(); ++at) {
    for (size_t p = 0; p < kSplit.size(); ++p) {
      if (Matches(words, at, kSplit[p]) && !IsAllowed(words, at))
        found.push_back({words[at].line, &kPhrases[p]});
    }
  }
  return found;
}

void Check(const fs::path& file, const std::vector<Word>& words) {
  for (const Found& found : Find(words)) {
    FAIL_CHECK(file.generic_string() << ":" << found.line << ": '" << found.phrase->words << "'; write "
                                     << found.phrase->instead << " (CONTRIBUTING, Glossary)");
  }
}

}  // namespace

TEST_CASE("phrases are found across line breaks, and in allowed sentences are not") {
  const auto lines = [](std::string_view text) {
    std::vector<Word> words;
    AddWords(text, 1, words);
    std::vector<size_t> result;
    for (const Found& found : Find(words)) result.push_back(found.line);
    return result;
  };
  CHECK(lines("It Stands\nby\nitself. Can. Not understand.") == std::vector<size_t>{1, 2});
  CHECK(lines("A circle of radius 3, a circle.") == std::vector<size_t>{1});
}

TEST_CASE("literals are joined and comments count on request") {
  const auto found = [](std::string_view text, bool comments) {
    return Find(WordsOfSource(text, comments)).size();
  };
  CHECK(found("f(\"it stands by \"\n  \"itself\");", false) == 2);
  CHECK(found("// it stands\nint stands = '\\''; g(R\"(stands)\");", false) == 0);
  CHECK(found("// it stands by\n// itself\nint x;", true) == 2);
  CHECK(found("f(\"by\", \"itself\");", false) == 0);
}

TEST_CASE("pages use the glossary's words") {
  std::vector<fs::path> pages =
      Files({"ir", "analysis", "ptx-parser", "lowering", "runtime", "tools", "tests", "corpus"}, {".md"});
  for (const char* page : {"README.md", "CONTRIBUTING.md", "CHANGELOG.md"}) pages.emplace_back(page);
  for (const fs::path& page : pages) Check(page, WordsOfPage(page));
}

TEST_CASE("headers, tables and messages use the glossary's words") {
  for (const fs::path& file : Files({"ir", "analysis", "ptx-parser", "lowering", "runtime", "tools"},
                                    {".h", ".def", ".cpp", ".c"})) {
    Check(file, WordsOfSource(TextOf(file), file.extension() == ".h" || file.extension() == ".def"));
  }
}

TEST_CASE("limits are kMax") {
  const std::regex old("\\bkMost");
  for (const fs::path& file : Files({"ir", "analysis", "ptx-parser", "lowering", "runtime", "tools"},
                                    {".h", ".def", ".cpp", ".c"})) {
    if (std::regex_search(TextOf(file), old)) FAIL_CHECK(file << ": write kMax, not kMost");
  }
}
