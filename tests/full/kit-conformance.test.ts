import { type HttpServing, serveHttp } from '@sallyport/kit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Check, failedAlone } from '../conformance/check.ts'
import { createConformingServer } from '../conformance/kit-server.ts'
import { REVISIONS, type Revision, requiredScenarios, runAgainstServer } from '../conformance/suite.ts'
import { promise } from '../promises.ts'

/** What the suite asks for besides and the kit does not do. Every other scenario for servers applies. */
const NOT_APPLICABLE = {
  '2025-11-25': [],
  // The extension io.modelcontextprotocol/tasks, which no revision requires.
  '2026-07-28': [
    'tasks-capability-negotiation',
    'tasks-dispatch-and-envelope',
    'tasks-lifecycle',
    'tasks-mrtr-composition',
    'tasks-mrtr-input',
    'tasks-request-headers',
    'tasks-request-state-removal',
    'tasks-required-task-error',
    'tasks-wire-fields',
  ],
} as const satisfies Readonly<Record<Revision, readonly string[]>>

let serving: HttpServing
beforeAll(async () => {
  serving = await serveHttp(createConformingServer(), { port: 0 })
})
afterAll(() => serving.close())

describe.each(REVISIONS)('the conformance suite of %s against a server written with the kit', (revision) => {
  let checks: readonly Check[]
  beforeAll(async () => {
    checks = await runAgainstServer(serving.url.replace('127.0.0.1', 'localhost'), revision)
  }, 120_000)

  it(`finds every scenario kept that applies (${promise('KIT-10')})`, () => {
    const excluded: readonly string[] = NOT_APPLICABLE[revision]
    expect(failedAlone(checks).filter(({ scenario }) => !excluded.includes(scenario))).toEqual([])
  })

  it('has run every scenario that the revision requires', () => {
    const run = new Set(checks.map(({ scenario }) => scenario))
    expect([...requiredScenarios(revision, 'server')].filter((scenario) => !run.has(scenario))).toEqual([])
  })

  it('fails in every scenario that is listed as not applying', () => {
    const failed = new Set(failedAlone(checks).map(({ scenario }) => scenario))
    expect(NOT_APPLICABLE[revision].filter((scenario) => !failed.has(scenario))).toEqual([])
  })
})
