import { describe, expect, it } from 'vitest'
import { toServerEntry } from './server-entry.ts'

const EMPTY = { kind: 'command', command: 'npx', args: '', env: '', url: '', headers: '' } as const

describe('the entry of a form', () => {
  it('has only what was filled in', () => {
    expect(toServerEntry(EMPTY)).toEqual({ entry: { command: 'npx' } })
    expect(toServerEntry({ ...EMPTY, kind: 'url', url: ' https://example.com/mcp ' })).toEqual({
      entry: { url: 'https://example.com/mcp' },
    })
  })

  it('takes one argument on each line, with its spaces', () => {
    expect(toServerEntry({ ...EMPTY, args: '-y\n\n/my files\n' })).toEqual({
      entry: { command: 'npx', args: ['-y', '/my files'] },
    })
  })

  it('splits variables and headers at the first sign alone', () => {
    expect(toServerEntry({ ...EMPTY, env: 'A=b=c\n' })).toEqual({ entry: { command: 'npx', env: { A: 'b=c' } } })
    expect(toServerEntry({ ...EMPTY, kind: 'url', url: 'x', headers: 'X-At: 10:30' })).toEqual({
      entry: { url: 'x', headers: { 'X-At': '10:30' } },
    })
  })

  it.each(['A', '=b'])('refuses a variable without a name or a value: %s', (env) => {
    expect(toServerEntry({ ...EMPTY, env })).toEqual({ problem: `"${env}" is not NAME=value.` })
  })
})
