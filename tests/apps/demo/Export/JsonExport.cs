// SPDX-License-Identifier: MIT
using Newtonsoft.Json;
using Newtonsoft.Json.Serialization;
using Shop.Data;

namespace Shop.Export;

static class JsonExport
{
  static readonly JsonSerializerSettings settings = new() {
    ContractResolver = new CamelCasePropertyNamesContractResolver(),
    DateTimeZoneHandling = DateTimeZoneHandling.Utc,
    Formatting = Formatting.Indented,
  };

  public static string Write(List<Order> orders) => JsonConvert.SerializeObject(orders, settings);

  public static List<Order> Read(string json) => JsonConvert.DeserializeObject<List<Order>>(json, settings)!;
}
