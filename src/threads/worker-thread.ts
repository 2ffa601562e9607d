// What every worker thread begins with: it runs the program that it was started for.

import { parentPort, workerData } from 'node:worker_threads'
import type { Program, WorkerOrder } from './messages.ts'

const { program, data } = workerData as WorkerOrder
if (parentPort === null) throw new Error('BUG: a thread is started as a program')
const { run } = (await import(program)) as Program
await run(data, parentPort)
