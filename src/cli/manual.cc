#include "cli/manual.h"

#include <algorithm>

#include "base/text.h"
#include "capture/category_table.h"

namespace culprit::cli {
namespace {

// CLI11 joins the name of a type and what its validators say: "TEXT:{table,csv}", "FILE:FILE".
// Returns the name, and the words of a set.
OptionDoc ValueOf(const CLI::Option& option) {
  OptionDoc doc;
  const std::string text = option.get_type_name();
  doc.value = text.substr(0, text.find(':'));
  const auto open = text.find('{');
  const auto close = text.find('}', open == text.npos ? 0 : open);
  if (open != text.npos && close != text.npos) {
    for (const auto word : Split(std::string_view(text).substr(open + 1, close - open - 1), ',')) {
      const auto name = word.substr(0, word.find("->"));  // a transformer shows "name->value"
      doc.choices.emplace_back(TrimBlanks(name));
    }
  }
  return doc;
}

std::vector<std::string> KnownWords(std::string_view value) {
  std::vector<std::string> words;
  if (value == "VERB") {
    for (const Verb& verb : Verbs()) words.emplace_back(verb.name);
  }
  if (value == "CATEGORY") {
    for (const auto& category : capture::Categories()) words.emplace_back(category.name);
  }
  return words;
}

OptionDoc DescribeOption(const CLI::Option& option) {
  OptionDoc doc;
  if (option.get_items_expected_max() > 0) doc = ValueOf(option);
  for (const std::string& name : option.get_snames()) doc.flags.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) doc.flags.push_back("--" + name);
  // CLI11's name for a value that was given none: the option's own says more.
  if (doc.value == "TEXT" && !doc.flags.empty()) {
    const std::string& flag = doc.flags.back();
    doc.value = flag.substr(flag.rfind('-') + 1);
    std::ranges::transform(doc.value, doc.value.begin(), [](char c) {
      return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    });
  }
  if (doc.choices.empty()) doc.choices = KnownWords(doc.value);
  doc.default_value = option.get_default_str();
  doc.description = option.get_description();
  doc.repeated = option.get_items_expected_max() > 1;
  doc.required = option.get_required();
  return doc;
}

}  // namespace

std::string OptionDoc::Names() const {
  std::string names;
  for (const std::string& flag : flags) names += (names.empty() ? "" : ", ") + flag;
  if (!value.empty()) names += (names.empty() ? "" : " ") + value;
  if (flags.empty() && repeated) names += "...";
  return names;
}

std::vector<std::string> VerbDoc::Usages() const {
  std::vector<std::string> usages;
  for (const auto form : Split(verb->usage, '\n')) {
    std::string usage = "culprit " + std::string(verb->name);
    if (!form.empty()) usage.append(" ").append(form);
    usages.push_back(std::move(usage));
  }
  return usages;
}

VerbDoc DescribeVerb(const Verb& verb, const CLI::App& app) {
  VerbDoc doc;
  doc.verb = &verb;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty() || option == app.get_help_ptr()) continue;
    (option->nonpositional() ? doc.options : doc.positionals).push_back(DescribeOption(*option));
  }
  return doc;
}

std::vector<VerbDoc> DescribeVerbs() {
  std::vector<VerbDoc> docs;
  for (const Verb& verb : Verbs()) {
    CLI::App app;
    (void)verb.declare(app);
    docs.push_back(DescribeVerb(verb, app));
  }
  return docs;
}

}  // namespace culprit::cli
