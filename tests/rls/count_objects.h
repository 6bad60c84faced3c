// The messages that protobuf has made of a RateLimitConfig, itself included.
#pragma once

#include <cstddef>

#include "rls/xds.pb.h"

namespace weir {

inline std::size_t CountObjects(const rls::Struct& map);

inline std::size_t CountObjects(const rls::Value& value) {
  std::size_t objects = 1;
  if (value.has_struct_value()) objects += CountObjects(value.struct_value());
  if (!value.has_list_value()) return objects;
  ++objects;
  for (const rls::Value& element : value.list_value().values()) objects += CountObjects(element);
  return objects;
}

inline std::size_t CountObjects(const rls::Struct& map) {
  std::size_t objects = 1;
  for (const rls::Field& field : map.fields()) {
    objects += 1 + (field.has_value() ? CountObjects(field.value()) : 0);
  }
  return objects;
}

inline std::size_t CountObjects(const xds::Descriptor& descriptor) {
  std::size_t objects = 1;
  if (descriptor.has_rate_limit()) {
    objects += 1 + static_cast<std::size_t>(descriptor.rate_limit().replaces_size());
  }
  if (descriptor.has_metadata()) objects += CountObjects(descriptor.metadata());
  for (const xds::Descriptor& below : descriptor.descriptors()) objects += CountObjects(below);
  return objects;
}

inline std::size_t CountObjects(const xds::RateLimitConfig& config) {
  std::size_t objects = 1;
  for (const xds::Descriptor& descriptor : config.descriptors()) {
    objects += CountObjects(descriptor);
  }
  return objects;
}

}  // namespace weir
