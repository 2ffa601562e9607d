// The yardstick of single measurements: a bare Koa with router and body parser that sends the body
// back. Prints its port.

import type { AddressInfo } from 'node:net'
import { Router } from '@koa/router'
import Koa from 'koa'
import bodyParser from 'koa-bodyparser'

const app = new Koa()
const router = new Router()
router.post('/api/v1/measurements', (ctx) => {
  ctx.body = ctx.request.body
})
app.use(bodyParser())
app.use(router.routes())
const server = app.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`)
})
