// One-time links to sign in with, for people without an identity provider. Only the hash of a
// link's code is kept.

export interface SignInLink {
  /** `null`: of whoever becomes the first user. */
  readonly userId: number | null
  /** 256 random bits that go into the token, so that nobody who has the code alone knows it. */
  readonly salt: Uint8Array
}

export interface NewSignInLink extends SignInLink {
  /** SHA-256 of the code. */
  readonly hash: Uint8Array
  readonly nowMs: number
  /** `null`: when there is a user. */
  readonly expiresAtMs: number | null
}

export interface SignInLinkReader {
  /** Whether or not it still works. */
  findSignInLink(hash: Uint8Array): Promise<SignInLink | undefined>
}
