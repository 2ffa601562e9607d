// Every answer that a test gets has to be one that the description of the API names: its status,
// its type, and for a failure its code. The description is the one that the service itself serves.

import type { TestAnswer, TestRequest } from './http.ts'

interface Media {
  readonly schema?: { readonly properties?: { readonly code?: { readonly enum?: string[] } } }
}

interface Operation {
  readonly responses: Readonly<Record<string, { readonly content?: Record<string, Media> }>>
}

interface Description {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

const descriptions = new Map<string, Promise<Description>>()

/** @throws Error when the description has the route and not the answer */
export async function expectDescribed(
  url: string,
  { method = 'GET', path }: TestRequest,
  { status, headers, body }: TestAnswer,
): Promise<void> {
  const description = descriptions.get(url) ?? describe(url)
  descriptions.set(url, description)
  const [address = ''] = path.split('?')
  const operation = operationOf(await description, method, address)
  if (operation === undefined) return
  const place = `${method} ${address}: ${status}`
  const response = operation.responses[status]
  if (response === undefined) throw new Error(`${place} is not described`)
  const type = headers['content-type']?.split(';')[0]
  if (type === undefined) return
  const media = response.content?.[type]
  if (media === undefined) throw new Error(`${place} ${type} is not described`)
  const codes = media.schema?.properties?.code?.enum
  if (codes === undefined) return
  const { code } = body as { readonly code: string }
  if (!codes.includes(code)) throw new Error(`${place} ${code} is not described`)
}

function operationOf(
  { paths }: Description,
  method: string,
  address: string,
): Operation | undefined {
  const pattern = Object.keys(paths).find((known) => {
    const form = known.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')
    return new RegExp(`^${form}$`).test(address)
  })
  return pattern === undefined ? undefined : paths[pattern]?.[method.toLowerCase()]
}

async function describe(url: string): Promise<Description> {
  return (await (await fetch(`${url}/openapi.json`)).json()) as Description
}
