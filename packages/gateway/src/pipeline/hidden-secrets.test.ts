import { SallyportError } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { createFakeSecrets, type FakeSecret } from '../../../core/src/fake-secrets.test-kit.ts'
import { createCatalog } from '../catalog/catalog.test-kit.ts'
import { ANN, createCall, createTestPipeline } from './pipeline.test-kit.ts'

const [{ secret }] = createFakeSecrets() as readonly [FakeSecret]
const catalogues = { files: createCatalog(['read']) }

describe(`${promise('GOV-18')} a secret that a server or a caller discloses`, () => {
  it('is in neither the answer nor the record of a call that failed', async () => {
    const error = new SallyportError('UPSTREAM_FAILED', `It said: bad key ${secret}.`, { hint: 'Try another.' })
    const { catalog, log, pipeline } = createTestPipeline({ catalogues, serve: () => Promise.reject(error) })
    const answer = await pipeline.run(createCall(catalog.snapshot.tools[0]))
    expect(answer).toMatchObject({ kind: 'failure', error: { code: 'UPSTREAM_FAILED', hint: 'Try another.' } })
    if (answer.kind === 'failure') expect(answer.error.message).toBe('It said: bad key [redacted: GitHub token].')
    expect(JSON.stringify(log.events)).not.toContain(secret)
    expect(log.events.at(-1)).toMatchObject({ message: 'It said: bad key [redacted: GitHub token].' })
  })

  it('is not in the record of a call for something unknown, also if its name is cut', () => {
    const { log, pipeline } = createTestPipeline({ catalogues })
    const name = `${'x'.repeat(280)} ${secret}`
    const asked = { id: 'c1', traceId: 't1', principal: ANN, method: 'tools/call', name }
    pipeline.recordUnknown(asked, new SallyportError('TOOL_UNKNOWN', `There is no tool ${name}.`))
    expect(log.types).toEqual(['TOOL_CALL_FAILED'])
    expect(JSON.stringify(log.events)).not.toContain(secret.slice(0, 12))
  })
})
