import { describe, expect, it } from 'vitest'
import { parseScript } from './script.ts'
import { answerByScript, type Conversation, DONE } from './scripted-answer.ts'

const SCRIPT = '[[call notes_list {"of":"}\\"]]"}]] and\n[[call !gone]]\n[[say good bye]]'
const conversation = (parts: Partial<Conversation>): Conversation => ({
  tools: [{ name: 'mcp__gw__notes_list' }],
  entries: [{ user: SCRIPT }],
  everything: '',
  ...parts,
})
const result = (tool: string, text: string) => ({ result: { tool, text } })

describe('the scripted model', () => {
  it('reads one turn a line, with arguments that hold braces and quotes', () => {
    expect(parseScript(SCRIPT)).toEqual([
      [{ kind: 'call', tool: 'notes_list', args: { of: '}"]]' } }],
      [{ kind: 'call', tool: '!gone', args: {} }],
      [{ kind: 'say', text: 'good bye' }],
    ])
  })

  it('calls the tool whose name ends with the words of the script', () => {
    const [call] = parseScript(SCRIPT)[0] ?? []
    expect(answerByScript(conversation({}))).toEqual({
      calls: [{ tool: { name: 'mcp__gw__notes_list' }, args: call?.kind === 'call' && call.args }],
    })
  })

  it('goes on by the results that came, and calls a tool that nobody offered where it is told to', () => {
    const entries = [{ user: SCRIPT }, result('mcp__gw__notes_list', '[]')]
    expect(answerByScript(conversation({ entries }))).toEqual({ calls: [{ tool: { name: 'gone' }, args: {} }] })
  })

  it('tells in the end what came of the calls', () => {
    const entries = [{ user: SCRIPT }, result('a', 'one'), result('b', 'two')]
    expect(answerByScript(conversation({ entries }))).toEqual({
      text: `${DONE}\na => one\nb => two\ngood bye`,
    })
  })

  it('searches for a tool that is held back, and gives up after some time', () => {
    const tools = [{ name: 'ToolSearch' }]
    const searched = Array.from({ length: 4 }, () => result('ToolSearch', 'nothing'))
    expect(answerByScript(conversation({ tools }))).toMatchObject({ calls: [{ tool: { name: 'ToolSearch' } }] })
    expect(answerByScript(conversation({ tools, entries: [{ user: SCRIPT }, ...searched] }))).toHaveProperty('text')
  })

  it('does nothing where there is no script', () => {
    expect(answerByScript(conversation({ entries: [{ user: 'give this a title' }] }))).toHaveProperty('text')
  })
})
