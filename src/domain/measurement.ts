// A measurement on its way in: what was submitted, and what was decided about it.

/** One element of a submission; its form is already validated. */
export interface SubmittedMeasurement {
  /** The sender's name for it; `null`: every submission of it is a new measurement. */
  readonly eventId: string | null
  readonly serialNumber: string
  readonly tempCelsius: number
  /** `null`: the time at which the server received the request. */
  readonly measuredAtMs: number | null
  /** The name for its sensor if this registers it; default: the serial number. */
  readonly alias?: string
}

/** The elements of a submission, in the sender's order. An array is one. */
export interface SubmittedMeasurements {
  readonly length: number
  /** The element at that index, possibly a new object for each call; `undefined` past the last. */
  at(index: number): SubmittedMeasurement | undefined
}

/** The content of one request: 1 to `submissionMeasurementsMax` elements, all or nothing. */
export interface Submission {
  readonly userId: number
  readonly receivedAtMs: number
  readonly measurements: SubmittedMeasurements
}

export type ReceiptStatus = 'created' | 'duplicate' | 'conflict'

/** What is stored under an event id that was resubmitted with different content. */
export interface StoredMeasurement {
  readonly serialNumber: string
  readonly sensorId: number
  readonly tempCelsius: number
  readonly measuredAtMs: number
}

/** The outcome for one element. */
export interface ReceiptItem {
  readonly status: ReceiptStatus
  readonly sensorId: number
  /** The spelling of the serial number that was stored first. */
  readonly serialNumber: string
  readonly measuredAtMs: number
  /** Only for a conflict. */
  readonly existing?: StoredMeasurement
}

/** The promise that a submission is on disk. */
export interface Receipt {
  /** Number of elements in the submission. */
  readonly count: number
  readonly counts: Readonly<Record<ReceiptStatus, number>>
  /** The outcome for the element at that index, a new object for each call. */
  at(index: number): ReceiptItem
}
