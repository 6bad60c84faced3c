#include "rls/message_count.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include "rls/xds.pb.h"

namespace weir {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

enum class Kind : std::uint8_t {
  kConfig,
  kDescriptor,
  kPolicy,
  kReplaced,
  kStruct,
  kField,
  kValue,
  kList,
};

// A field whose value is a message.
struct MessageField {
  Kind of;
  int number;
  Kind kind;
};

constexpr auto kMessageFields = std::to_array<MessageField>({
    {Kind::kConfig, xds::RateLimitConfig::kDescriptorsFieldNumber, Kind::kDescriptor},
    {Kind::kDescriptor, xds::Descriptor::kRateLimitFieldNumber, Kind::kPolicy},
    {Kind::kDescriptor, xds::Descriptor::kDescriptorsFieldNumber, Kind::kDescriptor},
    {Kind::kDescriptor, xds::Descriptor::kMetadataFieldNumber, Kind::kStruct},
    {Kind::kPolicy, xds::Policy::kReplacesFieldNumber, Kind::kReplaced},
    {Kind::kStruct, rls::Struct::kFieldsFieldNumber, Kind::kField},
    {Kind::kField, rls::Field::kValueFieldNumber, Kind::kValue},
    {Kind::kValue, rls::Value::kStructValueFieldNumber, Kind::kStruct},
    {Kind::kValue, rls::Value::kListValueFieldNumber, Kind::kList},
    {Kind::kList, rls::List::kValuesFieldNumber, Kind::kValue},
});

class MessageCounter {
 public:
  MessageCounter(CodedInputStream& input, std::size_t most) : input_(input), most_(most) {}

  // Counts a message that reaches to the limit of the input, and those in it, as long as they are
  // not more than `most`. Returns false if a parse would fail.
  bool Count(Kind kind, int level) {
    ++messages_;
    if (level > CodedInputStream::GetDefaultRecursionLimit()) return false;
    while (messages_ <= most_) {
      const std::uint32_t tag = input_.ReadTag();
      if (tag == 0) return input_.ConsumedEntireMessage();
      const MessageField* field = FindField(kind, tag);
      if (field == nullptr) {
        if (!WireFormatLite::SkipField(&input_, tag)) return false;
        continue;
      }
      int length = 0;
      if (!input_.ReadVarintSizeAsInt(&length) || length > input_.BytesUntilLimit()) return false;
      const CodedInputStream::Limit outer = input_.PushLimit(length);
      if (!Count(field->kind, level + 1)) return false;
      input_.PopLimit(outer);
    }
    return true;
  }

  [[nodiscard]] std::size_t messages() const { return messages_; }

 private:
  static const MessageField* FindField(Kind kind, std::uint32_t tag) {
    if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      return nullptr;
    }
    const int number = WireFormatLite::GetTagFieldNumber(tag);
    const auto* const found =
        std::ranges::find_if(kMessageFields, [kind, number](const MessageField& field) {
          return field.of == kind && field.number == number;
        });
    return found == kMessageFields.end() ? nullptr : found;
  }

  CodedInputStream& input_;
  const std::size_t most_;
  std::size_t messages_ = 0;
};

}  // namespace

std::optional<std::size_t> CountMessages(std::string_view config, std::size_t most) {
  const int size = static_cast<int>(config.size());
  CodedInputStream input(reinterpret_cast<const std::uint8_t*>(config.data()), size);
  input.PushLimit(size);
  MessageCounter counter(input, most);
  if (!counter.Count(Kind::kConfig, 0)) return std::nullopt;
  return counter.messages();
}

}  // namespace weir
