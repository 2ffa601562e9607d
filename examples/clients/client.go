// oapi-codegen -generate types,client -package thermolog -o thermolog/client.go daemon.json
//
// daemon.json is $THERMOLOG_URL/openapi/daemon.json. In a module called `example` that has
// github.com/oapi-codegen/runtime, `go run client.go` with THERMOLOG_URL and THERMOLOG_TOKEN. What
// a daemon does, with types for every answer: docs/api.md.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"example/thermolog"
)

func clientOf(token string) *thermolog.ClientWithResponses {
	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
	client, err := thermolog.NewClientWithResponses(
		os.Getenv("THERMOLOG_URL"), thermolog.WithRequestEditorFn(authorize))
	return must(client, err)
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	ctx := context.Background()
	api := clientOf(os.Getenv("THERMOLOG_TOKEN"))

	me := must(api.ShowDaemonMeWithResponse(ctx, nil))
	fmt.Println("me:", me.JSON200.Data.User.Email)

	sensors := must(api.ListSensorsWithResponse(ctx, nil))
	tag := sensors.HTTPResponse.Header.Get("ETag")
	again := must(api.ListSensorsWithResponse(ctx, &thermolog.ListSensorsParams{IfNoneMatch: &tag}))
	fmt.Println("sensors:", len(sensors.JSON200.Data), "then", again.StatusCode())

	// The event id makes it safe to send a measurement again: it is stored once.
	submit := func(temp float64) *thermolog.SubmitMeasurementResponse {
		event := "example-1"
		body := thermolog.Measurement{EventId: &event, Sn: "28FF641E93160434", Temp: temp}
		return must(api.SubmitMeasurementWithResponse(ctx, nil, body))
	}
	created, repeated, conflict := submit(20.5), submit(20.5), submit(21.5)
	fmt.Println("measurement:", created.JSON201.Data.Status, repeated.JSON200.Data.Status)
	refused := conflict.ApplicationproblemJSON409
	fmt.Println("conflict:", refused.Code, refused.Existing.Temp)

	var batch thermolog.MeasurementBatch
	for index := range 500 {
		event := fmt.Sprint("example-batch-", index)
		measurement := thermolog.Measurement{EventId: &event, Sn: "28FF641E93160435", Temp: 20}
		if index == 3 {
			measurement.Temp = 1e9
		}
		if index == 7 {
			measurement.Sn = ""
		}
		batch.Measurements = append(batch.Measurements, measurement)
	}
	invalid := must(api.SubmitBatchWithResponse(ctx, nil, batch)).ApplicationproblemJSON422
	fmt.Print("batch: ", invalid.Code)
	for _, fault := range *invalid.Errors {
		fmt.Print(" ", fault.Pointer)
	}
	fmt.Println()

	id := created.JSON201.Data.SensorId
	from, to := time.Now().Add(-time.Hour), time.Now().Add(time.Minute)
	bucket, fill := thermolog.Raw, thermolog.Null
	period := thermolog.ReadHistoryParams{From: &from, To: &to, Bucket: &bucket}
	raw := must(api.ReadHistoryWithResponse(ctx, id, &period)).JSON200.Data
	hour := thermolog.Hour
	period.Bucket, period.Fill = &hour, &fill
	for _, point := range must(api.ReadHistoryWithResponse(ctx, id, &period)).JSON200.Data.Points {
		if point.Temp != nil {
			fmt.Println("history:", *raw.Points[0].Temp, *point.Max, *point.Count)
		}
	}

	lost := must(api.ShowSensorWithResponse(ctx, 999_999_999, nil))
	stranger := must(clientOf("thd_live_x").ShowDaemonMeWithResponse(ctx, nil))
	fmt.Println("failures:", lost.ApplicationproblemJSON404.Code, stranger.ApplicationproblemJSON401.Code)
}
