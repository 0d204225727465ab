#include "health/tune/journal.h"

#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

namespace culprit::tune {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr unsigned kJournalMode = 0644;  // what it says is readable in /proc/sys anyway

Json ToJson(const JournalEntry& entry) {
  Json json = {{"key", entry.key},
               {"place", entry.place == Place::kSysfs ? "sysfs" : "sysctl"},
               {"path", entry.path},
               {"old", entry.old_value},
               {"wrote", entry.wrote},
               {"wrote_before", entry.wrote_before},
               {"applied_at", entry.applied_at}};
  if (entry.pair) json["pair"] = {{"path", entry.pair->path}, {"old", entry.pair->old_value}};
  if (entry.old_drop_in) json["old_drop_in"] = *entry.old_drop_in;
  return json;
}

// A path of a journal is written to by root: only what tune itself can have put there is believed.
bool SanePath(Place place, std::string_view path) {
  const std::string_view base = place == Place::kSysfs ? "/sys/" : "/proc/sys/";
  return path.starts_with(base) && SysctlPath(path.substr(base.size())).has_value();
}

std::optional<JournalEntry> FromJson(const Json& json) {
  JournalEntry entry;
  entry.key = json.at("key").get<std::string>();
  entry.place = json.at("place").get<std::string>() == "sysfs" ? Place::kSysfs : Place::kSysctl;
  entry.path = json.at("path").get<std::string>();
  entry.old_value = json.at("old").get<std::string>();
  entry.wrote = json.at("wrote").get<std::string>();
  entry.wrote_before = json.at("wrote_before").get<std::vector<std::string>>();
  entry.applied_at = json.value("applied_at", "");
  if (!SanePath(entry.place, entry.path)) return std::nullopt;
  if (json.contains("pair")) {
    entry.pair = PairedValue{json.at("pair").at("path").get<std::string>(),
                             json.at("pair").at("old").get<std::string>()};
    if (!SanePath(Place::kSysctl, entry.pair->path)) return std::nullopt;
  }
  if (json.contains("old_drop_in")) entry.old_drop_in = json.at("old_drop_in").get<std::string>();
  return entry;
}

}  // namespace

bool JournalEntry::Wrote(std::string_view value) const {
  return SameValue(wrote, value) ||
         std::ranges::any_of(wrote_before,
                             [value](const std::string& known) { return SameValue(known, value); });
}

Result<Journal> Journal::Read(const RootFiles& files) {
  Journal journal;
  const FileText text = files.Read(kJournalPath);
  if (text.absent()) return journal;
  const std::string shown = files.Shown(kJournalPath);
  if (!text.ok()) return ErrnoError("read the journal", shown, text.error_number);
  const Error damaged{"the journal " + shown + " is damaged",
                      "restore it, or move it away: then the values before tune are not known"};
  try {
    const Json json = Json::parse(text.text);
    if (json.at("format").get<int>() != kFormat) {
      return Error{"the journal " + shown + " is of another version of culprit",
                   "roll back with the version that applied"};
    }
    if (!json.at("entries").is_array()) return damaged;
    for (const Json& item : json.at("entries")) {
      auto entry = FromJson(item);
      if (!entry) return damaged;
      journal.entries_.push_back(std::move(*entry));
    }
  } catch (const Json::exception&) {
    return damaged;
  }
  return journal;
}

Status Journal::Write(const RootFiles& files) const {
  if (entries_.empty()) {
    return files.Exists(kJournalPath) ? files.RemoveFile(kJournalPath) : Status();
  }
  Json json = {{"format", kFormat}, {"entries", Json::array()}};
  for (const JournalEntry& entry : entries_) json["entries"].push_back(ToJson(entry));
  try {
    return files.ReplaceFile(kJournalPath, json.dump(2) + "\n", kJournalMode);
  } catch (const Json::exception&) {  // a value that is no UTF-8
    return Error{"a value to journal is not text", "leave that key out"};
  }
}

JournalEntry* Journal::Find(std::string_view path) {
  const auto found = std::ranges::find(entries_, path, &JournalEntry::path);
  return found == entries_.end() ? nullptr : &*found;
}

const JournalEntry* Journal::Find(std::string_view path) const {
  const auto found = std::ranges::find(entries_, path, &JournalEntry::path);
  return found == entries_.end() ? nullptr : &*found;
}

void Journal::Put(JournalEntry entry) {
  JournalEntry* known = Find(entry.path);
  if (known != nullptr) {
    *known = std::move(entry);
  } else {
    entries_.push_back(std::move(entry));
  }
}

void Journal::Remove(std::string_view path) {
  std::erase_if(entries_, [path](const JournalEntry& entry) { return entry.path == path; });
}

Result<UniqueFd> LockState(const RootFiles& files) {
  CULPRIT_TRY(files.MakeDirectories(kStateDirectory));
  CULPRIT_ASSIGN(UniqueFd directory, files.OpenDirectory(kStateDirectory));
  if (flock(directory.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      return Error{"another culprit tune is at work here", "wait until it has ended"};
    }
    return ErrnoError("lock", files.Shown(kStateDirectory), errno);
  }
  return directory;
}

}  // namespace culprit::tune
