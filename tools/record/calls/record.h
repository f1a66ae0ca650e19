// Records of groups: what Machine writes, without the names of functions, which the script has.
//
//   group NAME HASH   HASH of the group's statements: a group whose script has changed is recorded again
//   : ANSWER...       of the calls that follow each other, with ~ for spaces
//     NAME ELEMENT... of a `show` or a `peek`
//
// Lines that begin with # are comments.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/record/calls/script.h"

namespace ptx2cpu::calls {

// The text of one group, from the lines that Machine wrote.
std::string PackRecord(const Group& group, const std::vector<std::string>& lines);

// The lines of each group of a file for Machine. A group that is not in it, or of another script, has none.
std::map<std::string, std::vector<std::string>> ReadRecords(const std::string& path,
                                                            const std::vector<Group>& groups);

}  // namespace ptx2cpu::calls
