// Every code that only `errors` of a problem can have, with texts for people. GET /problems/{code}
// and the page of validation_failed show them, and docs/api.md has the same texts.

import type { ErrorCode, FaultCode } from '../../domain/errors.ts'

export interface FaultExplanation {
  /** In a few words. */
  readonly title: string
  /** What it means, then what to do. */
  readonly explanation: string
}

export const FAULTS: Readonly<Record<Exclude<FaultCode, ErrorCode>, FaultExplanation>> = {
  additionalProperties: {
    title: 'Unknown member',
    explanation: 'There is no member or parameter of this name. Correct it, or leave it out.',
  },
  const: {
    title: 'Another value is expected',
    explanation: 'Only the value that `detail` describes is allowed. Send that.',
  },
  enum: {
    title: 'Not one of the values',
    explanation: 'Only the values that `detail` lists are allowed. Send one of them.',
  },
  format: {
    title: 'Not of the form',
    explanation: 'The text has another form than `detail` shows. Send it in that form.',
  },
  maxItems: {
    title: 'Too many elements',
    explanation: 'The list has more elements than `detail` allows. Send fewer.',
  },
  maxLength: {
    title: 'The text is too long',
    explanation: 'The text has more characters than `detail` allows. Shorten it.',
  },
  maxProperties: {
    title: 'Too many members',
    explanation:
      'The object has more members, or the query more parameters, than `detail` allows. Send ' +
      'fewer.',
  },
  maximum: {
    title: 'The number is too large',
    explanation: 'The number is above the limit in `detail`. Check it and its unit.',
  },
  minItems: {
    title: 'Too few elements',
    explanation: 'The list has fewer elements than `detail` asks for. Add some, or do not send it.',
  },
  minLength: {
    title: 'The text is too short',
    explanation:
      'The text has fewer characters than `detail` asks for. Add some, or do not send it.',
  },
  minProperties: {
    title: 'The object is empty',
    explanation: 'The object has no member. Send at least one.',
  },
  minimum: {
    title: 'The number is too small',
    explanation: 'The number is below the limit in `detail`. Check it and its unit.',
  },
  pattern: {
    title: 'The text is not as described',
    explanation:
      'The text has a character that is not allowed, or lacks one: `detail` says what it must be.',
  },
  required: {
    title: 'Something is missing',
    explanation: 'The member or parameter at `pointer` is missing. Add it.',
  },
  type: {
    title: 'Wrong type',
    explanation:
      'The value has another JSON type than `detail` names: `"21.5"` is text and no number. Send ' +
      'it as that type.',
  },
  timestamp_in_future: {
    title: 'The timestamp lies in the future',
    explanation:
      'The timestamp is further ahead of the server than allowed. Keep the event, check your ' +
      'clock against `server_time` and send it again.',
  },
  timestamp_too_old: {
    title: 'The timestamp is too old',
    explanation:
      'The timestamp is before the earliest one that this server accepts. Check the sensor’s ' +
      'clock; set the measurement aside.',
  },
  too_many_at_one_time: {
    title: 'Too many measurements at one time',
    explanation:
      'The sensor already has a million measurements at this millisecond. Give measurements the ' +
      'times at which they were taken.',
  },
  lone_surrogate: {
    title: 'The text is not well-formed Unicode',
    explanation:
      'The text contains half of a surrogate pair, which UTF-8 cannot represent. Cut texts only ' +
      'between characters.',
  },
  repeated_member: {
    title: 'Repeated member',
    explanation:
      'An object has two members of one name, and nothing says which of them is meant. Give each ' +
      'member only once.',
  },
  repeated_parameter: {
    title: 'Repeated parameter',
    explanation: 'Give each query parameter only once.',
  },
  unknown_redirect_uri: {
    title: 'The redirect URI is not configured',
    explanation:
      '`redirect_uri` must equal one of the URIs in the server’s settings, byte for byte.',
  },
  too_many_tokens: {
    title: 'Too many tokens',
    explanation: 'A user can have made 100 daemon tokens that work. End one that is not in use.',
  },
  from_not_before_to: {
    title: 'The period is empty',
    explanation: '`from` must be before `to`. By default, `from` is 24 hours before `to`.',
  },
  unknown_time_zone: {
    title: 'Unknown time zone',
    explanation: '`tz` names a zone of the IANA time zone database, such as Europe/Berlin.',
  },
  time_zone_not_allowed: {
    title: 'No time zone with this bucket',
    explanation: '`tz` goes with the buckets day and auto; the others are the same in all zones.',
  },
  fill_not_allowed: {
    title: 'fill does not apply to raw',
    explanation: '`fill` applies to buckets; `raw` lists single measurements, so leave `fill` out.',
  },
}
