// A measurement on its way in: what was submitted, and what was decided about it.

/** One element of a submission; its form is already validated. */
export interface SubmittedMeasurement {
  /** The sender's name for it, or `null`: then it is a measurement of its own each time. */
  readonly eventId: string | null
  readonly serialNumber: string
  readonly tempCelsius: number
  /** `null`: the time at which the server received the request counts. */
  readonly measuredAtMs: number | null
  /** What its sensor is called when it is registered with it; default: the serial number. */
  readonly alias?: string
}

/** The elements of a submission, in the sender's order. An array is one. */
export interface SubmittedMeasurements {
  readonly length: number
  /** The element at that place, made anew for each call or not; `undefined` past the last. */
  at(index: number): SubmittedMeasurement | undefined
}

/** What one request submits: 1 to `submissionMeasurementsMax` elements, all or nothing. */
export interface Submission {
  readonly userId: number
  readonly receivedAtMs: number
  readonly measurements: SubmittedMeasurements
}

export type ReceiptStatus = 'created' | 'duplicate' | 'conflict'

/** What is stored under an event id that was submitted again with other content. */
export interface StoredMeasurement {
  readonly serialNumber: string
  readonly sensorId: number
  readonly tempCelsius: number
  readonly measuredAtMs: number
}

/** What was decided about one element. */
export interface ReceiptItem {
  readonly status: ReceiptStatus
  readonly sensorId: number
  /** The sensor's kept spelling. */
  readonly serialNumber: string
  readonly measuredAtMs: number
  /** Only of a conflict. */
  readonly existing?: StoredMeasurement
}

/** The promise that a submission is on disk. */
export interface Receipt {
  /** Elements of the submission. */
  readonly count: number
  readonly counts: Readonly<Record<ReceiptStatus, number>>
  /** What was decided about the element at that place, made anew for each call. */
  at(index: number): ReceiptItem
}
