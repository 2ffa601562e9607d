// What a service has to answer, by a model of a few maps: events that are known for ever, and
// sensors with their measurements in the order of acceptance.

export interface ModelEvent {
  readonly event_id: string
  readonly sn: string
  readonly temp: number
  /** Left out: the time at which it is received. */
  readonly timestamp?: string
}

export type Outcome = 'created' | 'duplicate' | 'conflict'

interface KnownEvent {
  readonly sn: string
  readonly temp: number
  readonly timestamp: string
  readonly sensorId: number
}

export interface ModelSensor {
  readonly id: number
  readonly sn: string
  alias: string
  compensation: number
  readonly points: { readonly timestamp: string; readonly temp: number }[]
}

/** What the service said of one element. */
export interface AnsweredItem {
  readonly sensor_id: number
  readonly timestamp: string
  readonly status: Outcome
}

export class ServiceModel {
  readonly events = new Map<string, KnownEvent>()
  readonly sensors = new Map<string, ModelSensor>()
  readonly submissions: (readonly ModelEvent[])[] = []
  readonly #usedIds = new Set<number>()

  /** What must become of each event of a submission, in order. Changes nothing. */
  decide(events: readonly ModelEvent[]): Outcome[] {
    const known = new Map<string, Omit<KnownEvent, 'sensorId' | 'timestamp'> & Partial<KnownEvent>>(
      this.events,
    )
    return events.map((event) => {
      const before = known.get(event.event_id)
      if (before === undefined) {
        known.set(event.event_id, event)
        return 'created'
      }
      // What came without a time has that of its arrival, which nobody names.
      const isTimeSame = event.timestamp === undefined || event.timestamp === before.timestamp
      const isSame = before.sn === event.sn && before.temp === event.temp && isTimeSame
      return isSame ? 'duplicate' : 'conflict'
    })
  }

  /**
   * Takes what was acknowledged into the model.
   *
   * @returns what is wrong with the answer, if anything is
   */
  accept(events: readonly ModelEvent[], items: readonly AnsweredItem[]): string | undefined {
    for (const [at, { status, sensor_id: sensorId, timestamp }] of items.entries()) {
      const event = events[at]
      if (event === undefined) return `${items.length} answers to ${events.length} events`
      if (status === 'created') {
        const wrong = this.#create(event, sensorId, timestamp)
        if (wrong !== undefined) return wrong
      } else if (status === 'duplicate') {
        const known = this.events.get(event.event_id)
        if (known?.sensorId !== sensorId) return `a duplicate of sensor ${sensorId}`
        if (known.timestamp !== timestamp) return `a duplicate of ${timestamp}`
      }
    }
    return undefined
  }

  #create(event: ModelEvent, sensorId: number, timestamp: string): string | undefined {
    const { event_id: eventId, sn, temp } = event
    if (event.timestamp !== undefined && event.timestamp !== timestamp) return `at ${timestamp}`
    let sensor = this.sensors.get(sn)
    if (sensor === undefined) {
      if (this.#usedIds.has(sensorId)) return `the id ${sensorId} is given again`
      this.#usedIds.add(sensorId)
      sensor = { id: sensorId, sn, alias: sn, compensation: 0, points: [] }
      this.sensors.set(sn, sensor)
    }
    if (sensor.id !== sensorId) return `sensor ${sensorId} instead of ${sensor.id}`
    sensor.points.push({ timestamp, temp })
    this.events.set(eventId, { sn, temp, timestamp, sensorId })
    return undefined
  }
}

/** By time, and of one time in the order of acceptance; compensated. */
export function historyOf({ points, compensation }: ModelSensor) {
  return points
    .map(({ timestamp, temp }) => ({ timestamp, temp: temp + compensation }))
    .toSorted((a, b) => Date.parse(a.timestamp) - Date.parse(b.timestamp))
}

export function summariesOf(sensor: ModelSensor, windowMs: number) {
  const windows = Map.groupBy(historyOf(sensor), ({ timestamp }) =>
    new Date(Math.floor(Date.parse(timestamp) / windowMs) * windowMs).toISOString(),
  )
  return [...windows].map(([timestamp, points]) => {
    const temps = points.map(({ temp }) => temp)
    const mean = temps.reduce((sum, temp) => sum + temp, 0) / temps.length
    const [min, max] = [Math.min(...temps), Math.max(...temps)]
    return { timestamp, temp: Math.round(mean * 1e6) / 1e6, min, max, count: temps.length }
  })
}
