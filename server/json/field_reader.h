// A reader of bodies of JSON that are an object with known fields. A class that is derived from it
// has a table of the fields and gets their values, without a tree:
//
//     {"key":"k","limits":["1/s","2/m"]}    BeginObject() Store(key, "k") Store(limits, "1/s")
//                                           Store(limits, "2/m") EndObject({key, limits})
//
// The reader holds that each field is known, stands there once and has a value of its kind, or says
// which does not: "unknown field 'x': known are key, limits", "field 'key' stands there twice",
// "invalid field 'key': must be a string". Readers share nothing, so threads need no lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"

#include "protocol/json_reader.h"

namespace weir {

// A row of the table.
struct FieldRow {
  std::string_view name;
  JsonKind kind;
  std::string_view must_be;   // what errors ask for: "a string"
  bool is_list = false;       // of values of that kind; objects are always in a list
  std::int64_t number_min{};  // the least number
};

// A set of fields, by their places in the table, which has 32 rows at most.
class FieldSet {
 public:
  constexpr FieldSet() = default;
  template <typename Field>
  constexpr FieldSet(std::initializer_list<Field> fields) {
    for (const Field field : fields) Add(field);
  }

  constexpr void Add(auto field) noexcept { bits_ |= BitOf(field); }
  [[nodiscard]] constexpr bool Has(auto field) const noexcept {
    return (bits_ & BitOf(field)) != 0;
  }
  [[nodiscard]] constexpr bool HasAll(FieldSet fields) const noexcept {
    return (fields.bits_ & ~bits_) == 0;
  }

 private:
  static constexpr std::uint32_t BitOf(auto field) noexcept {
    return std::uint32_t{1} << static_cast<unsigned>(field);
  }

  std::uint32_t bits_ = 0;
};

class FieldReader : private JsonParts {
 protected:
  explicit FieldReader(std::span<const FieldRow> fields) : fields_(fields) {}
  ~FieldReader() = default;

  // Reads a body, once. Fails with kInvalidArgument.
  [[nodiscard]] absl::Status Read(std::string_view body) { return ReadJson(body, *this); }

  // The number of objects that are open, each in a list of the one before.
  [[nodiscard]] std::size_t objects() const noexcept { return objects_; }

  // The present field of an open object, the outermost being 0.
  [[nodiscard]] std::size_t FieldOf(std::size_t object) const noexcept {
    return open_[object].field;
  }

  // Ends the reading with an error, or the present element of a list (KeepsMistake).
  [[nodiscard]] absl::Status Fail(std::string_view what);
  // Fails because the value of a field of the present object does not fit.
  [[nodiscard]] absl::Status Refuse(std::size_t field);
  [[nodiscard]] std::string Refusal(std::string_view name, std::size_t field) const;
  // The end of the error for an unknown field: "known are key, limits".
  [[nodiscard]] virtual std::string KnownText() const;

 private:
  // Whether a field may stand in the present object, and its name there in errors.
  [[nodiscard]] virtual bool IsKnown(std::size_t field) const = 0;
  [[nodiscard]] virtual std::string NameOf(std::size_t field) const;

  virtual absl::Status BeginObject() { return absl::OkStatus(); }
  virtual absl::Status Store(std::size_t field, const JsonValue& value) = 0;
  virtual absl::Status EndObject(FieldSet /*seen*/) { return absl::OkStatus(); }
  // Another value is in the place of an object.
  virtual absl::Status NoObject() = 0;
  // Keeps a mistake in an element of the outermost object's list, of which the rest is skipped
  // then, or returns false.
  virtual bool KeepsMistake(std::string_view /*what*/) { return false; }

  absl::Status OnBegin(char bracket) override;
  absl::Status OnEnd(char bracket) override;
  absl::Status OnName(std::string_view name) override;
  absl::Status OnValue(const JsonValue& value) override;

  struct Object {
    FieldSet seen;
    std::size_t field = 0;  // the present one
    bool in_list = false;   // of that field
  };

  [[nodiscard]] Object& object() { return open_[objects_ - 1]; }
  [[nodiscard]] const FieldRow& row() { return fields_[object().field]; }
  [[nodiscard]] bool WantsObject() {
    return objects_ == 0 || (object().in_list && row().kind == JsonKind::kObject);
  }

  const std::span<const FieldRow> fields_;
  std::array<Object, kJsonDepthMax> open_;
  std::size_t objects_ = 0;
  std::size_t depth_ = 0;  // of brackets
  bool skips_ = false;     // the rest of an element
};

}  // namespace weir
