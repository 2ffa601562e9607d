// Reading something once and keeping it. What fails is not kept: files that cannot be opened for
// want of descriptors can be a moment later.

/** What `read` gives, from its first success on without reading again. */
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
