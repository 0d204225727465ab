// What protobuf's text parser reports, as places a person counts and in our words: unknown fields
// told from Perfetto's own ones, near names. Internal to config_pbtxt.cc; builds no RecordConfig.
#pragma once

#include <google/protobuf/io/tokenizer.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capture/config_pbtxt.h"

namespace culprit::capture {

struct Place {
  int line = 0;    // from 1; 0 is nowhere
  int column = 0;  // from 1
};

// The parser's places count from 0 and widen tabs to 8; ours count characters from 1.
class PlaceMap {
 public:
  explicit PlaceMap(std::string_view text);
  Place Ours(int line, int column) const;
  // Where `word` stands last before a place: the parser speaks of what follows a field's name.
  Place LastBefore(std::string_view word, Place place) const;

 private:
  std::vector<std::string_view> lines_;
};

// Keeps the parser's errors and warnings.
class ConfigMessages : public google::protobuf::io::ErrorCollector {
 public:
  explicit ConfigMessages(const PlaceMap& places) : places_(places) {}

  void AddError(int line, int column, const std::string& message) override;
  void AddWarning(int line, int column, const std::string& message) override;

  std::optional<ConfigMessage> error;  // the first one: the rest follows from it
  std::vector<ConfigMessage> warnings;
  // Unknown fields of a DataSourceConfig: of interest only where the data source is one of ours.
  std::vector<ConfigMessage> source_warnings;

 private:
  const PlaceMap& places_;
};

std::string Quoted(std::string_view text);
// "text; note", "text; did you mean NEAR?", or the text alone.
std::string WithNote(std::string text, std::string_view note);
std::string WithNear(std::string text, std::string_view word, std::span<const std::string> known);

}  // namespace culprit::capture
