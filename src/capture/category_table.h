// Categories: the words of `culprit record CATEGORY...`, what events each stands for, and which of
// those a kernel has. Pure: a kernel is a list of "group/name" texts here, nothing is opened.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "capture/record_config.h"

namespace culprit::capture {

struct Category {
  std::string_view name;
  std::string_view summary;                   // one line for --list
  std::span<const std::string_view> events;   // "group/name", or a family as "group/na*"
  std::span<const std::string_view> members;  // of a preset: the categories it is made of
};

std::span<const Category> Categories();
const Category* FindCategory(std::string_view name);

// What a recording without any category records.
inline constexpr std::string_view kDefaultCategory = "node";

// Adds what the category stands for: events, D-state stacks (sched), markers, poll periods (stats).
void AddCategory(const Category& category, RecordConfig& config);

// Adds one event pattern. "ftrace/print" and "print" turn on the markers: that event cannot be
// enabled like others.
void AddEvent(EventRequest request, RecordConfig& config);

// Applies the words of a command line: categories, event patterns ("group/name", "group/*", a bare
// event name that `kernel_events` has) and names of Perfetto's atrace categories. No word is the
// default category. Returns what to tell the user about words that have no meaning on Linux; an
// Error for a word that is nothing at all, with near names.
[[nodiscard]] Result<std::vector<std::string>> AddWords(std::span<const std::string> words,
                                                        std::span<const std::string> kernel_events,
                                                        RecordConfig& config);

// Applies one of Perfetto's atrace_categories. False when nothing of it exists on Linux; `origin`
// goes to the events.
bool AddAtraceCategory(std::string_view name, const std::string& origin, RecordConfig& config);

// True for "sched/sched_switch" and a pattern that stands for it: '*' is any run of characters but
// '/', a pattern without '/' is an event of whatever group.
bool MatchesEvent(std::string_view pattern, std::string_view event);

struct MissingEvent {
  EventRequest request;
  std::vector<std::string> near;  // events of this kernel with near names, best first
  std::string ToString() const;   // "no event 'sched/sched_swich' ...; did you mean ...?"
};

struct ExpandedEvents {
  std::vector<std::string> events;    // "group/name", each once, sorted
  std::vector<MissingEvent> missing;  // required ones alone, in the order of the requests
};

// The events of this kernel that the requests stand for.
ExpandedEvents ExpandEvents(std::span<const EventRequest> requests,
                            std::span<const std::string> kernel_events);

// One category as --list shows it.
struct CategoryOnKernel {
  const Category* category = nullptr;
  std::vector<std::string> present;  // events of this kernel, sorted
  std::vector<std::string> absent;   // patterns that match none
};
std::vector<CategoryOnKernel> ListCategories(std::span<const std::string> kernel_events);

}  // namespace culprit::capture
