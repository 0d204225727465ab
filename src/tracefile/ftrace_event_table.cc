#include "tracefile/ftrace_event_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>
#include <vector>

#include "base/check.h"
#include "tracefile/ftrace_event_rows_table.h"

namespace culprit::tracefile {
namespace {

FieldType TypeOfLetter(char letter) {
  switch (letter) {
    case 'i':
      return FieldType::kInt32;
    case 'I':
      return FieldType::kInt64;
    case 'u':
      return FieldType::kUint32;
    case 'U':
    case 'f':
      return FieldType::kUint64;
    case 's':
      return FieldType::kString;
    default:
      CULPRIT_CHECK(letter == 'b');
      return FieldType::kBytes;
  }
}

// "NAME:NUMBER TYPE" without the blank, see the rows' header.
EventField ParseField(std::string_view text) {
  EventField field;
  if (text.ends_with('*')) {
    field.repeated = true;
    text.remove_suffix(1);
  }
  field.type = TypeOfLetter(text.back());
  field.is_function = text.back() == 'f';
  const std::size_t colon = text.find(':');
  field.name = text.substr(0, colon);
  const auto [stop, failure] =
      std::from_chars(text.data() + colon + 1, text.data() + text.size() - 1, field.number);
  CULPRIT_CHECK(failure == std::errc{} && stop == text.data() + text.size() - 1);
  return field;
}

// The rows, parsed once at the first use and never changed.
class Index {
 public:
  static const Index& Get() {
    static const Index index;
    return index;
  }

  std::span<const EventType> types() const { return types_; }

  const EventType* Find(std::uint32_t field_id) const {
    return field_id < by_id_.size() ? by_id_[field_id] : nullptr;
  }

  const EventType* Find(std::string_view group, std::string_view name) const {
    const auto [begin, end] = by_name_.equal_range(name);
    const auto found = std::find_if(
        begin, end, [group](const auto& entry) { return entry.second->group == group; });
    return found == end ? nullptr : found->second;
  }

 private:
  Index() {
    std::vector<std::size_t> first_field;
    for (const FtraceEventRow& row : kFtraceEventRows) {
      first_field.push_back(fields_.size());
      for (std::string_view rest = row.fields; !rest.empty();) {
        const std::size_t blank = std::min(rest.find(' '), rest.size());
        fields_.push_back(ParseField(rest.substr(0, blank)));
        rest.remove_prefix(std::min(blank + 1, rest.size()));
      }
    }
    first_field.push_back(fields_.size());
    const std::span<const EventField> fields(fields_);
    for (std::size_t i = 0; i < std::size(kFtraceEventRows); ++i) {
      const FtraceEventRow& row = kFtraceEventRows[i];
      types_[i] = {row.field_id, row.group, row.name,
                   row.kernel_name.empty() ? row.name : row.kernel_name,
                   fields.subspan(first_field[i], first_field[i + 1] - first_field[i])};
      by_id_[row.field_id] = &types_[i];
      by_name_.emplace(types_[i].kernel_name, &types_[i]);
    }
  }

  static constexpr std::size_t kLastId = std::rbegin(kFtraceEventRows)->field_id;

  std::vector<EventField> fields_;
  std::array<EventType, std::size(kFtraceEventRows)> types_;
  std::array<const EventType*, kLastId + 1> by_id_ = {};
  std::unordered_multimap<std::string_view, const EventType*> by_name_;
};

template <class Matches>
const EventField* FindIf(std::span<const EventField> fields, Matches matches) {
  const auto found = std::find_if(fields.begin(), fields.end(), matches);
  return found == fields.end() ? nullptr : &*found;
}

}  // namespace

const EventField* EventType::FindField(std::string_view field_name) const {
  return FindIf(fields, [=](const EventField& field) { return field.name == field_name; });
}

const EventField* EventType::FindField(std::uint32_t number) const {
  return FindIf(fields, [=](const EventField& field) { return field.number == number; });
}

std::span<const EventType> EventTypes() { return Index::Get().types(); }
const EventType* FindEventType(std::uint32_t field_id) { return Index::Get().Find(field_id); }
const EventType* FindEventType(std::string_view group, std::string_view kernel_name) {
  return Index::Get().Find(group, kernel_name);
}

}  // namespace culprit::tracefile
