// Work that many need at once, done once for all of them.

/**
 * Does the work for all who asked before it begins, and once at a time: whoever asks while it runs
 * waits for the next time.
 */
export function sharing<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<unknown> = Promise.resolve()
  let next: Promise<Result> | undefined
  const begin = () => {
    next = undefined
    return work()
  }
  return () => {
    if (next === undefined) {
      next = running.then(begin, begin)
      running = next
    }
    return next
  }
}
