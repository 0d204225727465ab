// The drop-in files on a node: reading them, and writing or removing them as a change leaves them.
// What is in them is DropIn's business.
#pragma once

#include <map>
#include <string>

#include "health/tune/apply.h"
#include "health/tune/drop_in.h"

namespace culprit::tune {

using DropIns = std::map<Place, DropIn>;

const char* DropInPath(Place place);

// The name of a file in the drop-in of its kind.
std::string DropInName(Place place, const std::string& path);

// Both of them; an Error when one is there and cannot be read.
Result<DropIns> ReadDropIns(const RootFiles& files);

// Writes them as they should be, or removes one in which nothing is left; says so in the report.
void KeepDropIns(const RootFiles& files, const DropIns& drop_ins, ChangeReport& report);

}  // namespace culprit::tune
