#include "health/stack_class.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace culprit::health {

const StackClass& ClassifyStack(const TaskRow& row) {
  if (row.stack.empty() && !row.wchan.empty()) return ClassifyFrames({&row.wchan, 1});
  return ClassifyFrames(row.stack);
}

const StackClass* OnBehalfOf(const TaskRow& row) { return OnBehalfOfFrames(row.stack); }

std::string StackGroup::Frames() const {
  const TaskRow& row = *rows.front();
  if (row.stack.empty()) {
    return row.wchan.empty() ? "stack not readable (" + row.stack_error + ")"
                             : "wchan " + row.wchan;
  }
  std::string text;
  for (const std::string& frame : row.stack) {
    text += (text.empty() ? "" : " < ") + frame;
    if (text.size() > 400) return text + " ...";
  }
  return text;
}

std::string StackGroup::Describe() const {
  std::map<std::string, std::size_t> comms;
  for (const TaskRow* row : rows) ++comms[row->comm];
  std::string names;
  std::size_t shown = 0;
  for (const auto& [comm, count] : comms) {
    if (++shown > 3) {
      names += ", ...";
      break;
    }
    names += fmt::format("{}{}", names.empty() ? "" : ", ", comm);
    if (count > 1) names += fmt::format(" x {}", count);
  }
  const TaskRow& row = *rows.front();
  const std::string where = !row.stack.empty() ? row.stack.front() : row.wchan;
  return fmt::format("{}{} ({}{})", names, where.empty() ? "" : " in " + where, kind->name,
                     behalf == nullptr ? "" : fmt::format(" for {}", behalf->name));
}

std::vector<StackGroup> GroupByStack(const std::vector<TaskRow>& rows, std::size_t most) {
  std::map<std::vector<std::string>, StackGroup> groups;
  for (const TaskRow& row : rows) {
    std::vector<std::string> key = row.stack;
    if (key.empty()) key = {"wchan " + row.wchan};
    StackGroup& group = groups[key];
    if (group.rows.empty()) group.kind = &ClassifyStack(row), group.behalf = OnBehalfOf(row);
    group.rows.push_back(&row);
    group.oldest_s = std::max(group.oldest_s, row.waited_s.value_or(0));
  }
  std::vector<StackGroup> sorted;
  for (auto& [key, group] : groups) sorted.push_back(std::move(group));
  std::ranges::stable_sort(sorted, std::greater<>(),
                           [](const auto& group) { return group.rows.size(); });
  if (most > 0 && sorted.size() > most) sorted.resize(most);
  return sorted;
}

}  // namespace culprit::health
