// All fixed limits of the service, with the unit in the name. What an operator can change is in
// config.ts; limits of messages are in schemas/.

/** Elements of one batch (given by the contract). */
export const submissionMeasurementsMax = 500

/** Largest submission that the live allowance admits; a backlog has more. */
export const liveMeasurementsMax = 10

/** Lines of a body of line protocol. */
export const lineBodyLinesMax = 50_000

/** Temperatures in a body of line protocol. */
export const lineBodyMeasurementsMax = 50_000

/** A line of line protocol, without its line break. Larger ones are refused. */
export const lineBytesMax = 64 * 1024

/** Tags and fields of a line; a line with more is not read any further. */
export const lineTagsMax = 256
export const lineFieldsMax = 1_024

/** What is kept of a line that is too large, or has no temperature. */
export const cutLineBytesMax = 1_024

/** Series of line protocol without a temperature that are noted per user. */
export const skippedSeriesMax = 4_096

/** Refused lines and elements that are kept, in total and per user. */
export const refusedBytesMax = 64 * 2 ** 20
export const refusedUserBytesMax = refusedBytesMax / 8

/** Members of one object in a request; an object with more is not inspected further. */
export const elementMembersMax = 32

/** Parameters of a query; one with more is not inspected further. */
export const queryParametersMax = 32

/** Characters of a number that is read, in any format; the longest of any use has 25. */
export const numberCharactersMax = 64

/** Characters, as code points, of an alias and of other names that people give. */
export const nameCharactersMax = 128

/** Request body after decompression. */
export const requestBodyBytesMax = 4 * 1024 * 1024

/** Request body of a sign-in, after decompression. */
export const signInBodyBytesMax = 16 * 1024

/** A statement of 64 KiB as a form in which every byte is escaped, and some parameters. */
export const statementFormBytesMax = 256 * 1024

/** Request bodies that have arrived and whose requests are not answered, of all together. */
export const requestBodiesInFlightBytesMax = 64 * 1024 * 1024

/** Open connections from one address; proxies and this machine are exempt. */
export const connectionsPerAddressMax = 512

/** Requests per address with an invalid token; this machine and proxies are exempt. */
export const failedTokensPerMinute = 60

/** Statements per address that need no token; this machine and proxies are exempt. */
export const openStatementsPerMinute = 600

/** Links to sign in with that a user may have open; the next one ends the oldest. */
export const signInLinksPerUserMax = 5

/** How long a used code can be sent again, for an answer that was lost. */
export const codeRepeatMsMax = 2 * 60_000

/** Mobile tokens of one user; beyond it the least recently used ends. */
export const sessionsPerUserMax = 100

/** Daemon tokens that work and that one user has made. */
export const ownTokensPerUserMax = 100

/** Sessions and own tokens of one user that were ended and are still listed to operators. */
export const endedTokensKeptMax = 100

/** How old a session may be in which a daemon token is made. */
export const makingSessionAgeMsMax = 86_400_000

/** Submissions accepted for commit and not yet answered; beyond it, requests get 503. */
export const submissionsInFlightMax = 2_048

/** Measurements in those submissions. */
export const measurementsInFlightMax = 128_000

/** Measurements per commit; larger groups are no faster, and wait longer. */
export const groupMeasurementsMax = 16_000

/**
 * One user's largest share of a group, so that nobody waits long for another user: committing this
 * much takes some hundredths of a second.
 */
export const groupShareMax = { submissions: 512, measurements: 4_000 }

/** One user's largest share of the commit queue; beyond it, that user's requests get 503. */
export const userInFlightMax = {
  submissions: submissionsInFlightMax / 2,
  measurements: measurementsInFlightMax / 2,
}

/** Measurements of one sensor at one millisecond, distinguished by the digits below it. */
export const measurementsAtOneTimeMax = 1_000_000

/** Faults reported per element. */
export const elementFaultsMax = 8

/** Entries of one `errors` list; a body of 4 MiB could have more than anyone reads. */
export const problemErrorsMax = 4_000

/** The size of that list as JSON. */
export const problemErrorsBytesMax = 256 * 1024

/** A raw history may span this much (given by the contract). */
export const rawPeriodMsMax = 7 * 86_400_000

/** Points of a history with `fill=null`. */
export const filledPointsMax = 10_000

/** Buckets in a response with several sensors: buckets of the period times sensors. */
export const seriesBucketsMax = 200_000

/**
 * Histories and answers to InfluxQL under way; further ones wait. Each keeps some of what it has
 * read until its client takes it: a history up to 2 MB, InfluxQL 4 MB. One that waits keeps up to
 * 40 KB: the head of its request, and what was read from it.
 */
export const historyAnswers = { ofUserMax: 8, ofAllMax: 32, waitingMax: 2_048 }
export const statementAnswers = { ofUserMax: 2, ofAllMax: 16, waitingMax: 2_048 }
/** Lists of all that a user has of something, until their clients have taken them. */
export const listAnswers = { ofUserMax: 4, ofAllMax: 16, waitingMax: 2_048 }

/** Batches with faults, until they are answered: 500 elements can have a megabyte of them. */
export const faultyBatches = { ofUserMax: 2, ofAllMax: 8, waitingMax: 2_048 }

/** An answer that takes no place: it may wait for its client on every connection. */
export const smallAnswerBytesMax = 64 * 1024

/** `bucket=auto` picks the finest bucket that covers the period with at most this many. */
export const autoPointsMax = 1_500

/** A history waits this long for acknowledged measurements that are not yet in the store. */
export const historyWaitMsMax = 2_000

/** Characters of a cursor of changes, and of the id of a live event. */
export const cursorCharactersMax = 8 * 1024

/** How old a cursor of changes may be; with an older one, clients begin again. */
export const changesAgeMsMax = 30 * 86_400_000

/** How long it is known from when on a history has changed; for longer, all of it may have. */
export const historyChangesMsMax = 7 * 86_400_000

/** Deleted sensors named to a client; one that has missed more begins again. */
export const deletionsNamedMax = 10_000

/** Live events; clients that need more load the dashboard. */
export const liveLimits = {
  /** Open subscriptions, all clients together. */
  subscriptionsMax: 1_000,
  /** Open subscriptions of one token: an app has one, a browser one for each of its pages. */
  subscriptionsPerTokenMax: 10,
  /** Open subscriptions of one user, across all tokens. */
  subscriptionsPerUserMax: 100,
  /** Minimum time between looks at the sensors of listening users. */
  lookEveryMs: 1_000,
  /** How often the tokens of open streams are checked: streams end within two seconds of theirs. */
  checkTokensEveryMs: 1_000,
  /** Events that a look gives to all streams together, in equal shares. */
  eventsPerLookMax: 10_000,
  /** Sensors in memory because a client listens, or did shortly before: about 500 bytes each. */
  watchedSensorsMax: 100_000,
  /** Deleted sensors of a user that can still be reported to listeners. */
  watchedDeletionsMax: 1_000,
  /** A stream is cut off when its client has read nothing for this long. */
  stallMsMax: 60_000,
}

/** Events in memory before they are sealed: 8 MB an epoch, and 6 MB of journal to rebuild. */
export const epochEvents = 2 ** 17

/** Bytes of a measurement in the journal. */
export const journalEntryBytes = 45

/** Epochs that wait to be sealed; beyond it, groups wait. */
export const epochsWaitingMax = 3

/** Bytes of an event in the ledger. */
const sealedEventBytes = 38

/** Bytes of a measurement in the embedded store, with its share of summaries. */
export const storedMeasurementBytes = 100

/** Measurements per write to the embedded store. */
export const storeWriteMeasurementsMax = 32_000

/** A log of this size is moved into its file. The last transaction may make it longer. */
export const logBytesMax = {
  control: 4 * 2 ** 20,
  ledger: 32 * 2 ** 20,
  measurements: 64 * 2 ** 20,
}

/** What a write to the embedded store adds to its log, per measurement: about a page. */
const storeLogBytes = 2_500

/**
 * What the service still writes to disk after it has admitted its last submission, besides the
 * backlog: the logs, with one write to the store beyond the limit; what is sealed, and a merge
 * step; and what is in flight, which goes to the journal, the ledger and the store.
 */
export const lastWritesBytesMax =
  logBytesMax.control +
  logBytesMax.ledger +
  logBytesMax.measurements +
  storeWriteMeasurementsMax * storeLogBytes +
  (epochsWaitingMax + 1) * epochEvents * sealedEventBytes +
  measurementsInFlightMax * (journalEntryBytes + sealedEventBytes + storedMeasurementBytes)

/**
 * Heap of each worker thread: the garbage of a batch is collected before it piles up. The young
 * generation has three parts of this size in all.
 */
export const threadHeap = { maxYoungGenerationSizeMb: 6, maxOldGenerationSizeMb: 256 }

/** No working server's clock is before this: the day this version was made. */
export const buildDateMs = Date.UTC(2026, 10, 20)

if (requestBodyBytesMax > requestBodiesInFlightBytesMax / 16) {
  throw new Error('BUG: one body takes more than half of what a user may have')
}
if (groupMeasurementsMax < submissionMeasurementsMax) {
  throw new Error('BUG: a submission does not fit into a group')
}
if (measurementsInFlightMax < groupMeasurementsMax + submissionMeasurementsMax) {
  throw new Error('BUG: a full group does not fit into the queue it is taken from')
}
if (problemErrorsMax < submissionMeasurementsMax) {
  throw new Error('BUG: a list of errors cannot name every element')
}
