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
  it('reads one turn a line, with arguments that contain braces and quotes', () => {
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

  it('continues with the results, and calls a tool that was not offered if the script says so', () => {
    const entries = [{ user: SCRIPT }, result('mcp__gw__notes_list', '[]')]
    expect(answerByScript(conversation({ entries }))).toEqual({ calls: [{ tool: { name: 'gone' }, args: {} }] })
  })

  it('reports the results of the calls at the end', () => {
    const entries = [{ user: SCRIPT }, result('a', 'one'), result('b', 'two')]
    expect(answerByScript(conversation({ entries }))).toEqual({
      text: `${DONE}\na => one\nb => two\ngood bye`,
    })
  })

  it('searches for a deferred tool, and gives up after some time', () => {
    const tools = [{ name: 'ToolSearch' }]
    const searched = Array.from({ length: 4 }, () => result('ToolSearch', 'nothing'))
    expect(answerByScript(conversation({ tools }))).toMatchObject({ calls: [{ tool: { name: 'ToolSearch' } }] })
    expect(answerByScript(conversation({ tools, entries: [{ user: SCRIPT }, ...searched] }))).toHaveProperty('text')
  })

  it('does nothing if there is no script', () => {
    expect(answerByScript(conversation({ entries: [{ user: 'give this a title' }] }))).toHaveProperty('text')
  })
})
