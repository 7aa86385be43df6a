import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { toLinkError } from './link-error.ts'

const circumstances = { peer: 'the server', redact: (text: string) => text, isGone: false }
const thrown = (code: number | string) => Object.assign(new Error('no'), { code, data: { status: 401 } })

describe(`${promise('GW-17')} the data of a server's error`, () => {
  it('is not used as the status of an HTTP response', () => {
    const own = toLinkError(thrown(-32603), circumstances)
    const ofTransport = toLinkError(thrown('CLIENT_HTTP_UNEXPECTED_CONTENT'), circumstances)
    expect([own, ofTransport]).toMatchObject([{ code: 'UPSTREAM_FAILED' }, { code: 'UNAUTHENTICATED' }])
  })
})
