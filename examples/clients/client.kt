// openapi-generator-cli generate -g kotlin -i "$THERMOLOG_URL/openapi/daemon-3.0.json" -o thermolog --package-name thermolog
//
// Put this file into thermolog/src/main/kotlin and run its `main`, with THERMOLOG_URL and
// THERMOLOG_TOKEN. What a daemon does, with types for every answer: docs/api.md. For an app take
// /openapi/mobile-3.0.json, and let OkHttp's `Cache` send If-None-Match.

import java.time.OffsetDateTime
import thermolog.apis.AccountApi
import thermolog.apis.MeasurementsApi
import thermolog.apis.SensorsApi
import thermolog.infrastructure.ClientError
import thermolog.infrastructure.ClientException
import thermolog.infrastructure.Serializer
import thermolog.models.Bucket
import thermolog.models.Fill
import thermolog.models.Measurement
import thermolog.models.MeasurementBatch
import thermolog.models.Problem

val url: String = System.getenv("THERMOLOG_URL")
val token: String = System.getenv("THERMOLOG_TOKEN")
val measurements = MeasurementsApi(url).apply { accessTokenProvider = { token } }
val sensors = SensorsApi(url).apply { accessTokenProvider = { token } }

fun accountOf(text: String) = AccountApi(url).apply { accessTokenProvider = { text } }

/** What a failing call says. */
fun problemOf(call: () -> Unit): Problem =
    try {
        call()
        error("it did not fail")
    } catch (failure: ClientException) {
        val body = (failure.response as ClientError<*>).body as String
        Serializer.moshi.adapter(Problem::class.java).fromJson(body)!!
    }

/** The event id makes it safe to send a measurement again: it is stored once. */
fun submit(temp: Double) =
    measurements.submitMeasurement(Measurement("28FF641E93160434", temp, "example-1")).data

fun main() {
    println("me: ${accountOf(token).showDaemonMe().data.user.email}")

    val first = sensors.listSensorsWithHttpInfo(null, null)
    val tag = first.headers.entries.first { it.key.equals("ETag", true) }.value.first()
    val again = sensors.listSensorsWithHttpInfo(tag, null)
    println("sensors: ${sensors.listSensors().data.size} then ${again.statusCode}")

    val created = submit(20.5)
    println("measurement: ${created.status.value} ${submit(20.5).status.value}")
    val conflict = problemOf { submit(21.5) }
    println("conflict: ${conflict.code} ${conflict.existing!!.temp}")

    val batch = List(500) { index ->
        val sn = if (index == 7) "" else "28FF641E93160435"
        Measurement(sn, if (index == 3) 1e9 else 20.0, "example-batch-$index")
    }
    val invalid = problemOf { measurements.submitBatch(MeasurementBatch(batch)) }
    println("batch: ${invalid.code} ${invalid.errors!!.joinToString(" ") { it.pointer }}")

    val from = OffsetDateTime.now().minusHours(1)
    val to = OffsetDateTime.now().plusMinutes(1)
    val raw = measurements.readHistory(created.sensorId, from, to, Bucket.raw).data
    val hours = measurements.readHistory(created.sensorId, from, to, Bucket.hour, fill = Fill.`null`)
    val measured = hours.data.points.first { it.temp != null }
    println("history: ${raw.points[0].temp} ${measured.max} ${measured.count}")

    val lost = problemOf { sensors.showSensor(999_999_999) }
    val stranger = problemOf { accountOf("thd_live_x").showDaemonMe() }
    println("failures: ${lost.code} ${stranger.code}")
}
