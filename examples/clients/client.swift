// openapi-generator-cli generate -g swift6 -i "$THERMOLOG_URL/openapi/daemon-3.0.json" -o thermolog --additional-properties=projectName=Thermolog
//
// In a package that depends on ./thermolog, with THERMOLOG_URL and THERMOLOG_TOKEN. What a daemon
// does, with types for every answer: docs/api.md. For an app take /openapi/mobile-3.0.json, and let
// URLCache send If-None-Match.

import Foundation
import Thermolog

let environment = ProcessInfo.processInfo.environment
let url = environment["THERMOLOG_URL"] ?? "http://127.0.0.1:8080"

func apiOf(_ token: String) -> ThermologAPIConfiguration {
  ThermologAPIConfiguration(
    basePath: url, customHeaders: ["Authorization": "Bearer \(token)"])
}

/// What a failing call says.
func problemOf<Answer>(_ call: () async throws -> Answer) async throws -> Problem {
  do {
    _ = try await call()
  } catch ErrorResponse.error(_, let data?, _, _) {
    return try CodableHelper().jsonDecoder.decode(Problem.self, from: data)
  }
  fatalError("it did not fail")
}

let api = apiOf(environment["THERMOLOG_TOKEN"] ?? "")

let me = try await AccountAPI.showDaemonMe(apiConfiguration: api)
print("me:", me.data.user.email)

let sensors = try await SensorsAPI.listSensors(apiConfiguration: api)
print("sensors:", sensors.data.count)

// The event id makes it safe to send a measurement again: it is stored once.
func submit(_ temp: Double) async throws -> AcceptedMeasurement {
  let measurement = Measurement(eventId: "example-1", sn: "28FF641E93160434", temp: temp)
  return try await MeasurementsAPI.submitMeasurement(
    measurement: measurement, apiConfiguration: api
  ).data
}
let created = try await submit(20.5)
let repeated = try await submit(20.5)
print("measurement:", created.status.rawValue, repeated.status.rawValue)
let conflict = try await problemOf { try await submit(21.5) }
print("conflict:", conflict.code, conflict.existing?.temp ?? .nan)

let batch = (0..<500).map { index in
  Measurement(
    eventId: "example-batch-\(index)", sn: index == 7 ? "" : "28FF641E93160435",
    temp: index == 3 ? 1e9 : 20)
}
let invalid = try await problemOf {
  try await MeasurementsAPI.submitBatch(
    measurementBatch: MeasurementBatch(measurements: batch), apiConfiguration: api)
}
print("batch:", invalid.code, (invalid.errors ?? []).map(\.pointer).joined(separator: " "))

let (from, to) = (Date(timeIntervalSinceNow: -3600), Date(timeIntervalSinceNow: 60))
let raw = try await MeasurementsAPI.readHistory(
  id: created.sensorId, from: from, to: to, bucket: .raw, apiConfiguration: api)
let hours = try await MeasurementsAPI.readHistory(
  id: created.sensorId, from: from, to: to, bucket: .hour, fill: .null, apiConfiguration: api)
if let measured = hours.data.points.first(where: { $0.temp != nil }) {
  print("history:", raw.data.points[0].temp ?? .nan, measured.max ?? .nan, measured.count ?? 0)
}

let lost = try await problemOf {
  try await SensorsAPI.showSensor(id: 999_999_999, apiConfiguration: api)
}
let stranger = try await problemOf {
  try await AccountAPI.showDaemonMe(apiConfiguration: apiOf("thd_live_x"))
}
print("failures:", lost.code, stranger.code)
