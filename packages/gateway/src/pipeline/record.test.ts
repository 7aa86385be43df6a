import { ALLOW, type Decision, type Json, type Principal } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { createCatalog } from '../catalog/catalog.test-kit.ts'
import { PUBLIC_LABEL } from '../governance/governance.ts'
import type { Call } from './call.ts'
import { ANN, createCall, createTestPipeline } from './pipeline.test-kit.ts'
import { completedRecord, formatFacts, startedRecord } from './record.ts'

const DECISION: Decision = {
  outcome: 'allow',
  verdicts: [
    { step: 'select', verdict: ALLOW },
    { step: 'mode', verdict: { outcome: 'allow', reason: 'no rules' } },
  ],
}
const { catalog, rulesOf } = createTestPipeline({ catalogues: { files: createCatalog(['read', 'say "hi"\n\u2028']) } })
const offers = catalog.snapshot.tools
const started = (call: Call, recorded?: Json) => {
  const { principal, params, offer } = call
  const label = { label: PUBLIC_LABEL, holder: { current: PUBLIC_LABEL }, seen: PUBLIC_LABEL }
  const subject = { call, principal, params, rules: rulesOf(offer), checked: ALLOW, grant: undefined, ...label }
  return startedRecord({ context: subject, decision: DECISION, epoch: 0, took: 0.0123 }, formatFacts(call), recorded)
}
const parsed = ({ members }: { members: string }): unknown => JSON.parse(`{${members}}`)
const factsOf = ({ user, agent, profile, session }: Principal) => ({ user, agent, profile, session })

describe('the records of a call', () => {
  it('contain the caller and the offer, whatever characters the names contain', () => {
    const unusual: Principal = { ...ANN, user: 'a"b\\c\u0007', session: 'ü' }
    for (const offer of offers)
      for (const principal of [ANN, unusual, ANN]) {
        const call = createCall(offer, { principal, id: 'id"1', traceId: 't\n' })
        const facts = {
          call_id: 'id"1',
          trace_id: 't\n',
          ...factsOf(principal),
          server: 'files',
          method: 'tools/call',
          tool_name: offer.recordName,
          is_mcp: true,
        }
        const steps = { select: 'allow', mode: 'no rules' }
        const risk = { risk: expect.stringMatching(/low|medium/), risk_reason: expect.stringMatching(/./) }
        const governed = { steps, mode: 'NORMAL', ...risk, decided_ms: 0.012 }
        expect(parsed(started(call))).toEqual({ type: 'TOOL_CALL_STARTED', ...facts, ...governed })
        const completion = { facts: formatFacts(call), success: false, latency: 1.23456, serverTook: 1.2, bytes: 7 }
        expect(parsed(completedRecord(completion))).toEqual({
          type: 'TOOL_CALL_COMPLETED',
          ...facts,
          success: false,
          latency_ms: 1.23,
          server_ms: 1.2,
          bytes: 7,
          tokens_estimated: 2,
        })
      }
  })

  it('contain the recorded arguments, and no such member if nothing was recorded', () => {
    const call = createCall(offers[0])
    expect(parsed(started(call, { path: 'a"b\n', 'x\u2028': [1, null] }))).toMatchObject({
      arguments: { path: 'a"b\n', 'x\u2028': [1, null] },
    })
    expect(parsed(started(call, {}))).toMatchObject({ arguments: {} })
    expect(parsed(started(call))).not.toHaveProperty('arguments')
  })

  it('are different for different methods on the same offer', () => {
    const methodIn = (method: string) => parsed(started(createCall(offers[0], { method })))
    expect(methodIn('prompts/get')).toMatchObject({ method: 'prompts/get' })
    expect(methodIn('completion/complete')).toMatchObject({ method: 'completion/complete' })
    expect(methodIn('prompts/get')).toMatchObject({ method: 'prompts/get' })
  })
})
