import { Cancellation, SallyportError, STEP_NAMES } from '@sallyport/core'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { createCatalog } from '../catalog/catalog.test-kit.ts'
import { DEFAULT_SETTINGS } from '../config/config.ts'
import type { Client } from '../upstream/upstream.ts'
import { createCall, createTestPipeline, toTestFrame } from './pipeline.test-kit.ts'
import { CallGauge, callSteps, listingSteps, ToolLimits } from './pipeline.ts'

const FILES = { files: createCatalog(['read', 'write']) }
const codeIn = (answer: { kind: string; error?: SallyportError }): string => answer.error?.code ?? answer.kind

const unhandled: unknown[] = []
const onUnhandled = (reason: unknown): void => void unhandled.push(reason)
beforeEach(() => void process.on('unhandledRejection', onUnhandled))
afterEach(async () => {
  await new Promise(setImmediate)
  process.off('unhandledRejection', onUnhandled)
  expect(unhandled.splice(0)).toEqual([])
})

describe('a call', () => {
  it('is decided, recorded, sent under the server’s own name, recorded again and answered', async () => {
    const { catalog, pipeline, log, requests, gauge } = createTestPipeline({ catalogues: FILES })
    const answer = await pipeline.run(createCall(catalog.snapshot.tool('files_read')))
    expect(answer).toMatchObject({ kind: 'frame', era: 'legacy' })
    expect(requests).toMatchObject([{ method: 'tools/call', name: 'read', session: 'ann\ns1' }])
    expect(log.types).toEqual(['TOOL_CALL_STARTED', 'TOOL_CALL_COMPLETED'])
    expect(log.events[0]).toMatchObject({
      call_id: 'c1',
      trace_id: 't1',
      user: 'ann',
      server: 'files',
      tool_name: 'mcp__files__read',
      is_mcp: true,
      steps: { select: 'allow', limits: 'allow' },
    })
    expect(log.events[1]).toMatchObject({ success: true, call_id: 'c1' })
    expect(gauge.inFlight).toBe(0)
  })

  it('runs every step once, those for lists first', () => {
    const { approvals } = createTestPipeline({ catalogues: FILES })
    const labels = { labelSettings: () => DEFAULT_SETTINGS.labels, privateRouteOf: () => undefined }
    const ofCalls = callSteps({ gauge: new CallGauge(() => 1), tools: new ToolLimits(() => 0), approvals, ...labels })
    const ofLists = listingSteps(() => expect.fail('nobody asked')).map(({ name }) => name)
    expect([...ofLists, ...ofCalls.map(({ name }) => name)]).toEqual(STEP_NAMES)
    expect(ofLists).toEqual(['select', 'mode', 'pin'])
  })

  it('that the server answers with an error is not recorded as a success', async () => {
    const replies = ['{"id":1,"result":{"isError":true}}', '{"id":1,"error":{"code":-1,"message":""}}']
    for (const reply of replies) {
      const { catalog, pipeline, log } = createTestPipeline({
        catalogues: FILES,
        serve: async () => toTestFrame(reply),
      })
      expect((await pipeline.run(createCall(catalog.snapshot.tool('files_read')))).kind).toBe('frame')
      expect(log.events[1]).toMatchObject({ type: 'TOOL_CALL_COMPLETED', success: false })
    }
  })

  it('that fails on its way is answered and recorded', async () => {
    const serve = () => Promise.reject(new SallyportError('UPSTREAM_TIMEOUT', 'No answer.'))
    const { catalog, pipeline, log, gauge } = createTestPipeline({ catalogues: FILES, serve })
    expect(codeIn(await pipeline.run(createCall(catalog.snapshot.tool('files_read'))))).toBe('UPSTREAM_TIMEOUT')
    expect(log.events[1]).toMatchObject({ type: 'TOOL_CALL_FAILED', error: 'UPSTREAM_TIMEOUT', message: 'No answer.' })
    expect(gauge.inFlight).toBe(0)
  })

  it('that hits a bug in the gateway is answered without details, which are reported once to the operator', async () => {
    const serve = () => Promise.reject(new TypeError('secret insides'))
    const bugs: SallyportError[] = []
    const onBug = (error: SallyportError) => bugs.push(error)
    const { catalog, pipeline, log, gauge } = createTestPipeline({ catalogues: FILES, serve, onBug })
    const answer = await pipeline.run(createCall(catalog.snapshot.tool('files_read')))
    expect(codeIn(answer)).toBe('INTERNAL')
    expect(JSON.stringify([answer, log.events])).not.toContain('secret insides')
    expect(bugs.map(({ cause }) => String(cause))).toEqual(['TypeError: secret insides'])
    expect(gauge.inFlight).toBe(0)
  })

  it('to a server that was removed meanwhile is answered', async () => {
    const { catalog, pipeline } = createTestPipeline({ catalogues: FILES })
    const call = createCall(catalog.snapshot.tool('files_read'))
    catalog.reconfigure([], 'prefixed')
    expect(codeIn(await pipeline.run(call))).toBe('UPSTREAM_UNAVAILABLE')
  })

  it('that is not selected is refused with the source location of the rule, and is not sent', async () => {
    const { catalog, pipeline, log, requests } = createTestPipeline({ catalogues: FILES, exclude: ['write'] })
    expect(codeIn(await pipeline.run(createCall(catalog.snapshot.tool('files_write'))))).toBe('CALL_DENIED')
    expect(requests).toEqual([])
    expect(log.events).toMatchObject([
      { type: 'POLICY_DENIED', error: 'CALL_DENIED', decided_by: { step: 'select', rule: { line: 7 } } },
    ])
  })

  it('over the limit of in-flight calls is refused at once; a call that ended makes room', async () => {
    let finish = (): void => {}
    const serve = () =>
      new Promise<ReturnType<typeof toTestFrame>>(
        (resolve) => (finish = () => resolve(toTestFrame('{"id":1,"result":{}}'))),
      )
    const { catalog, pipeline } = createTestPipeline({ catalogues: FILES, serve, maxCalls: 1 })
    const call = createCall(catalog.snapshot.tool('files_read'))
    const first = pipeline.run(call)
    expect(codeIn(await pipeline.run(call))).toBe('OVERLOADED')
    await new Promise(setImmediate)
    finish()
    await first
    const third = pipeline.run(call)
    await new Promise(setImmediate)
    finish()
    expect(codeIn(await third)).toBe('frame')
  })
})

describe(`a call that cannot be recorded (${promise('GOV-27')})`, () => {
  const full = new SallyportError('AUDIT_UNAVAILABLE', 'The disk is full.')

  it('is not sent', async () => {
    const { catalog, pipeline, log, requests } = createTestPipeline({ catalogues: FILES })
    log.failure = full
    expect(codeIn(await pipeline.run(createCall(catalog.snapshot.tool('files_read'))))).toBe('AUDIT_UNAVAILABLE')
    expect(requests).toEqual([])
  })

  it('has its answer withheld if only its end cannot be recorded', async () => {
    const bench = createTestPipeline({
      catalogues: FILES,
      serve: async () => {
        bench.log.failure = full
        return toTestFrame('{"id":1,"result":{}}')
      },
    })
    expect(codeIn(await bench.pipeline.run(createCall(bench.catalog.snapshot.tool('files_read'))))).toBe(
      'RESULT_WITHHELD',
    )
  })

  it('does not give the client’s answers to the server that asks for them', async () => {
    const answers: unknown[] = []
    const bench = createTestPipeline({
      catalogues: FILES,
      serve: async ({ ask }) => {
        answers.push(await ask?.({ method: 'roots/list', params: {}, cancellation: new Cancellation() }))
        return toTestFrame('{"id":1,"result":{}}')
      },
    })
    const client: Client = {
      ...{
        era: 'legacy',
        capabilities: { roots: {} },
        clientInfo: undefined,
        conversation: 'c',
        logLevel: undefined,
        answersInCall: true,
      },
      ask: async () => {
        bench.log.failure = full
        return { result: { roots: [] } }
      },
      notify: () => {},
    }
    await bench.pipeline.run(createCall(bench.catalog.snapshot.tool('files_read'), { client }))
    expect(bench.log.types).toEqual(['TOOL_CALL_STARTED', 'CLIENT_ASKED'])
    expect(answers).toEqual([
      { error: { code: -32600, message: 'The gateway does not allow roots/list here and now.' } },
    ])
  })

  it('is sent anyway if records are not required', async () => {
    const audit = { durability: 'process', required: false } as const
    const { catalog, pipeline, log } = createTestPipeline({ catalogues: FILES, audit })
    log.failure = full
    expect(codeIn(await pipeline.run(createCall(catalog.snapshot.tool('files_read'))))).toBe('frame')
  })

  it('is refused for this reason and not by the policy, since that refusal could not be recorded either', async () => {
    const { catalog, pipeline, log } = createTestPipeline({ catalogues: FILES, exclude: ['*'] })
    log.failure = full
    expect(codeIn(await pipeline.run(createCall(catalog.snapshot.tool('files_read'))))).toBe('AUDIT_UNAVAILABLE')
  })

  it('waits for the disk if its record must survive a power cut', async () => {
    const audit = { durability: 'power', required: true } as const
    const { catalog, pipeline, log } = createTestPipeline({ catalogues: FILES, audit })
    let synced = (): void => {}
    log.syncing = () => new Promise((resolve) => (synced = resolve))
    let answered = false
    const run = pipeline.run(createCall(catalog.snapshot.tool('files_read'))).then(() => (answered = true))
    await new Promise(setImmediate)
    expect(answered).toBe(false)
    synced()
    await run
  })

  it('is answered with that error if the sync fails long before the server answers', async () => {
    for (const required of [true, false]) {
      let finish = (): void => {}
      const serve = () =>
        new Promise<ReturnType<typeof toTestFrame>>(
          (resolve) => (finish = () => resolve(toTestFrame('{"id":1,"result":{}}'))),
        )
      const { catalog, pipeline, log } = createTestPipeline({
        catalogues: FILES,
        serve,
        audit: { durability: 'power', required },
      })
      log.syncing = () => Promise.reject(full)
      const run = pipeline.run(createCall(catalog.snapshot.tool('files_read')))
      await new Promise(setImmediate)
      finish()
      expect(codeIn(await run)).toBe(required ? 'RESULT_WITHHELD' : 'frame')
      expect(log.types).toEqual(['TOOL_CALL_STARTED', 'TOOL_CALL_COMPLETED'])
    }
  })
})
