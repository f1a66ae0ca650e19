#include "tools/record/calls/record.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>

#include "tools/record/calls/invoke.h"

namespace ptx2cpu::calls {

namespace {

std::string HashOf(const Group& group) {
  uint64_t hash = 0xcbf29ce484222325;
  auto add = [&](char c) { hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3; };
  for (const Statement& statement : group.statements) {
    for (const std::string& word : statement.words) {
      std::ranges::for_each(word, add);
      add(' ');
    }
    add('\n');
  }
  std::ostringstream text;
  text << std::hex << (hash >> 32);
  return text.str();
}

bool IsCall(const Statement& statement) { return IsCallVerb(statement.words[0]); }

std::string Exchanged(std::string text, char from, char to) {
  std::ranges::replace(text, from, to);
  return text;
}

}  // namespace

std::string PackRecord(const Group& group, const std::vector<std::string>& lines) {
  std::string text = "group " + group.name + " " + HashOf(group) + "\n";
  bool in_answers = false;
  for (const std::string& line : lines) {
    if (line.starts_with("  ")) {
      text += (in_answers ? "\n" : "") + line + "\n";
      in_answers = false;
      continue;
    }
    text += (in_answers ? " " : ": ") + Exchanged(line.substr(line.find(' ') + 1), ' ', '~');
    in_answers = true;
  }
  return text + (in_answers ? "\n" : "");
}

std::map<std::string, std::vector<std::string>> ReadRecords(const std::string& path,
                                                            const std::vector<Group>& groups) {
  std::map<std::string, std::vector<std::string>> records;
  std::ifstream in(path);
  const Group* group = nullptr;
  std::vector<Statement>::const_iterator next;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string word, name, hash;
    words >> word;
    if (word == "group") {
      words >> name >> hash;
      const auto found = std::ranges::find(groups, name, &Group::name);
      group = found != groups.end() && HashOf(*found) == hash ? &*found : nullptr;
      if (group != nullptr) next = group->statements.begin();
    } else if (group != nullptr && line.starts_with("  ")) {
      records[group->name].push_back(line);
    } else if (group != nullptr && word == ":") {
      while (words >> word) {
        next = std::find_if(next, group->statements.end(), IsCall);
        if (next == group->statements.end()) break;
        records[group->name].push_back(next->words[1] + " " + Exchanged(word, '~', ' '));
        ++next;
      }
    }
  }
  return records;
}

}  // namespace ptx2cpu::calls
