// The apps that open links to this service, as an operator names them.

/** The apps that take over links to this service, as their systems name them. */
export interface AppLinks {
  readonly android: readonly AndroidApp[]
  /** `TEAMID.bundle`. */
  readonly apple: readonly string[]
}

export interface AndroidApp {
  readonly packageName: string
  /** SHA-256 of the certificate it is signed with, `14:6D:…`. */
  readonly fingerprint: string
}
