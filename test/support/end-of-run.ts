// The end of a run of tests. Mocha in one process runs the hooks of the outermost suite at the end.
// Each of several processes runs them after the first file that has them and goes on with others,
// so there what files share is ended with the process.

// The benchmarks use some of what tests share, and end it themselves.
const isOfMocha = typeof after === 'function'
const isOneOfSeveral = process.env['MOCHA_WORKER_ID'] !== undefined

/** To be called at the top of a file: ends what tests share when the last of them is over. */
export function atEndOfRun(stop: () => Promise<void>): void {
  if (isOfMocha && !isOneOfSeveral) after(stop)
}
