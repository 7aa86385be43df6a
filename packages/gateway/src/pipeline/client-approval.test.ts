import { type JsonObject, prettyPrintJson, toVisibleText } from '@sallyport/core'
import { constantFrom, dictionary, nat, oneof, sample, string, tuple } from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ApprovalAnswer, PendingApproval } from '../governance/governance.ts'
import type { Client, Question } from '../upstream/upstream.ts'
import { ClientApproval } from './client-approval.ts'

const PRINCIPAL = { user: 'ann', agent: 'codex', profile: 'default', session: 's1', role: 'agent' } as const

/** What the form of a client shows for these arguments, and which answer is accepted. */
async function ask(args: JsonObject, answer = 'once', { tool = 'mcp__x__run', reason = 'high risk' } = {}) {
  const questions: Question[] = []
  const answers: ApprovalAnswer[] = []
  const client = {
    capabilities: { elicitation: {} },
    ask: async (question: Question) => {
      questions.push(question)
      return { result: { action: 'accept', content: { answer } } }
    },
  } as unknown as Client
  const approval = { id: 'a1', tool, server: 'x', risk: 'high', reason, arguments: args }
  const clients = new ClientApproval({
    approvals: {
      onChange: () => () => true,
      answer: async (_, answer) => {
        answers.push(answer)
        return answer
      },
    },
    mayApprove: () => true,
    onBug: (error) => expect.unreachable(String(error)),
  })
  await clients.ask({ client, principal: PRINCIPAL }, approval as unknown as PendingApproval)
  const { message, requestedSchema } = (questions[0]?.params ?? {}) as any
  const choices: readonly string[] = requestedSchema.properties.answer.oneOf.map((one: any) => one.const)
  return { message, choices, answers }
}

const padding = tuple(
  constantFrom(' ', '\u3164', '\n', 'x', '\u202e', '\u2800', '\t', '\u3000', '\u6f22', '\u{1f600}'),
  nat(4_000),
).map(([char, count]) => char.repeat(count))
const value = oneof(string({ unit: 'binary', maxLength: 200 }), padding)

/** The width in a terminal that shows every character outside ASCII with two columns. */
const columnsOf = (line: string): number => [...line].reduce((sum, char) => sum + (/[ -~]/.test(char) ? 1 : 2), 0)

describe('the form in which a client asks its user', () => {
  it('shows everything that would be sent, or cannot be used to approve it', async () => {
    const cases = sample(dictionary(string({ maxLength: 10 }), value, { maxKeys: 4 }), 200)
    let [whole, refused] = [0, 0]
    for (const args of cases) {
      const { message, choices, answers } = await ask(args)
      const shown = message.split('Arguments:\n')[1]
      if (choices.length > 1) {
        whole++
        const expected = prettyPrintJson(args).split('\n').map(toVisibleText).join('')
        expect(shown?.replaceAll('\n', '')).toBe(expected)
        for (const line of String(message).split('\n')) expect(columnsOf(line)).toBeLessThanOrEqual(80)
        expect(answers).toMatchObject([{ answer: 'once' }])
      } else {
        refused++
        expect(choices).toEqual(['deny'])
        expect(message).toContain('sallyport approvals show a1')
        expect(answers).toEqual([])
      }
    }
    expect(Math.min(whole, refused)).toBeGreaterThan(0)
  })

  it('cannot be used to approve arguments that an agent has padded', async () => {
    const padded = await ask({ command: `ls ${' '.repeat(1_990)} && rm -rf /` })
    expect(padded.choices).toEqual(['deny'])
    expect(padded.answers).toEqual([])
    expect((await ask({ command: `ls ${' '.repeat(1_990)}` }, 'deny')).answers).toMatchObject([{ answer: 'deny' }])
    const deep = JSON.parse(`${'{"a":'.repeat(900)}"rm -rf /"${'}'.repeat(900)}`)
    expect((await ask(deep)).choices).toEqual(['deny'])
  })

  it.each(['tool', 'reason'])('cannot be used to approve a call whose %s fills the form', async (part) => {
    const shown = { [part]: `run?${' '.repeat(3_000)}` }
    expect(await ask({ command: 'rm -rf /' }, 'once', shown)).toMatchObject({ choices: ['deny'], answers: [] })
    const { message } = await ask({}, 'once', shown)
    expect(message.length).toBeLessThan(1_500)
  })

  it('shows the reason in short lines without invisible characters', async () => {
    const { message, choices } = await ask({}, 'once', { reason: `found: \u202e${'x '.repeat(150)}` })
    expect(choices).toContain('once')
    expect(message).toContain('found: \\u202e')
    for (const line of String(message).split('\n')) expect(columnsOf(line)).toBeLessThanOrEqual(80)
  })
})
