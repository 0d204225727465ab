#include "capture/config_messages.h"

#include <google/protobuf/descriptor.h>

#include "base/text.h"
#include "capture/config_fields_table.h"
#include "capture/trace_config.pb.h"

namespace culprit::capture {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// Protobuf says: Message type "culprit.config.FtraceConfig" has no field named "ftrace_event".
// What stands in the n-th pair of quotes of such a message (a name cannot hold a quote).
std::string_view NthQuoted(std::string_view message, std::size_t n) {
  const auto pieces = Split(message, '"');
  const std::size_t at = 2 * n + 1;
  return at < pieces.size() ? pieces[at] : std::string_view{};
}

const Descriptor* FindMessage(std::string_view full_name) {
  return config::TraceConfig::descriptor()->file()->pool()->FindMessageTypeByName(
      std::string(full_name));
}

std::string UnknownField(const Descriptor& type, std::string_view field) {
  std::vector<std::string> names;
  for (const ForeignField& foreign : ForeignFields()) {
    if (foreign.message != type.name()) continue;
    if (foreign.field == field) {
      return WithNote("field " + Quoted(field) + " is understood by Perfetto, not by culprit",
                      foreign.note);
    }
    names.emplace_back(foreign.field);
  }
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
  return WithNear(type.name() + " has no field " + Quoted(field), field, names);
}

// Finds a field by its name alone, in whatever message: for errors that do not say which.
const FieldDescriptor* FindField(const Descriptor& type, std::string_view name) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    if (field->name() == name) return field;
    if (field->message_type() == nullptr) continue;
    if (const FieldDescriptor* found = FindField(*field->message_type(), name)) return found;
  }
  return nullptr;
}

std::string UnknownValue(std::string_view value, std::string_view field) {
  std::vector<std::string> names;
  const FieldDescriptor* found = FindField(*config::TraceConfig::descriptor(), field);
  if (found != nullptr && found->enum_type() != nullptr) {
    for (int i = 0; i < found->enum_type()->value_count(); ++i) {
      names.push_back(found->enum_type()->value(i)->name());
    }
  }
  return WithNear("field " + Quoted(field) + " has no value " + Quoted(value), value, names);
}

}  // namespace

std::string Quoted(std::string_view text) { return "'" + SafeForTerminal(text) + "'"; }

std::string WithNote(std::string text, std::string_view note) {
  if (!note.empty()) text.append("; ").append(note);
  return text;
}

std::string WithNear(std::string text, std::string_view word, std::span<const std::string> known) {
  const auto near = NearNames(word, known);
  if (!near.empty()) text += "; did you mean " + SafeForTerminal(near.front()) + "?";
  return text;
}

PlaceMap::PlaceMap(std::string_view text) : lines_(Split(text, '\n')) {}

Place PlaceMap::Ours(int line, int column) const {
  if (line < 0) return {};
  if (static_cast<std::size_t>(line) >= lines_.size()) return {line + 1, 1};
  int wide = 0, at = 0;
  for (const char c : lines_[static_cast<std::size_t>(line)]) {
    if (wide >= column) break;
    wide += c == '\t' ? 8 - wide % 8 : 1;
    ++at;
  }
  return {line + 1, at + 1};
}

Place PlaceMap::LastBefore(std::string_view word, Place place) const {
  for (int line = place.line; line >= 1; --line) {
    const std::string_view text = lines_[static_cast<std::size_t>(line - 1)];
    const auto end = line == place.line ? static_cast<std::size_t>(place.column - 1) : text.size();
    const auto at = text.substr(0, end).rfind(word);
    if (at != text.npos) return {line, static_cast<int>(at) + 1};
  }
  return place;
}

void ConfigMessages::AddError(int line, int column, const std::string& message) {
  if (error) return;
  Place place = places_.Ours(line, column);
  std::string text = SafeForTerminal(message);
  if (message.starts_with("Unknown enumeration value")) {
    const std::string_view value = NthQuoted(message, 0);
    place = places_.LastBefore(value, place);
    text = UnknownValue(value, NthQuoted(message, 1));
  }
  error = {place.line, place.column, std::move(text)};
}

void ConfigMessages::AddWarning(int line, int column, const std::string& message) {
  const Place place = places_.Ours(line, column);
  const Descriptor* type = FindMessage(NthQuoted(message, 0));
  if (message.find("has no field named") == message.npos || type == nullptr) {
    warnings.push_back({place.line, place.column, SafeForTerminal(message)});
    return;
  }
  const std::string_view field = NthQuoted(message, 1);
  const Place name = places_.LastBefore(field, place);
  const bool of_source = type == config::DataSourceConfig::descriptor();
  (of_source ? source_warnings : warnings)
      .push_back({name.line, name.column, UnknownField(*type, field)});
}

}  // namespace culprit::capture
