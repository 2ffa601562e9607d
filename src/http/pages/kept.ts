// Reads something once and keeps it. Failures are not kept: files that cannot be opened for lack of
// descriptors may open a moment later.

/** The result of `read`, which runs until it succeeds once. */
export function kept<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined
  const readAnew = async () => {
    try {
      return await read()
    } catch (error) {
      reading = undefined
      throw error
    }
  }
  return () => (reading ??= readAnew())
}
