// How the kernel words its common events in the text of a trace. Facts of their TP_printk lines.
// Events that are not here are written as key=value.
#pragma once

#include <span>
#include <string_view>

namespace culprit::query {

struct EventWording {
  std::string_view event;
  // Text with {key} for a field; {key:03} pads with zeros, {key:x} is hexadecimal, {key:dev} a
  // device number as major,minor, {key:state} a task state, {key:vec} a softirq's name, {key:ret}
  // what an interrupt handler returned.
  std::string_view text;
};

std::span<const EventWording> EventWordings();

}  // namespace culprit::query
