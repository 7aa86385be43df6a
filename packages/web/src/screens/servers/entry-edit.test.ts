import { describe, expect, it } from 'vitest'
import { type Entry, parseField, toForm } from './entry-edit.ts'

const COMMAND: Entry = {
  command: 'npx',
  args: ['-y', 5, 'x'],
  environment: { PORT: 8080, KEY: '•••' },
  readTimeout: 60,
  sensitivity: 'CONFIDENTIAL',
  timeouts: { call: '60s' },
}

const find = (entry: Entry, name: string) => {
  const field = toForm(entry).fields.find((one) => one.name === name)
  if (field === undefined) throw new Error(`The form has no ${name}.`)
  return field
}

describe('the form of an entry', () => {
  it('has the fields of its kind with the spelling of the file, and names those that it cannot show', () => {
    const { fields, others } = toForm(COMMAND)
    expect(fields.filter(({ text }) => text !== '').map(({ key, text }) => [key, text])).toEqual([
      ['command', 'npx'],
      ['args', '-y\n5\nx'],
      ['environment', 'PORT=8080\nKEY=•••'],
      ['sensitivity', 'confidential'],
      ['readTimeout', '60'],
    ])
    expect(others).toEqual(['timeouts'])
    expect(toForm({ url: 'https://x/mcp', headers: { A: 'b' } }).fields.map(({ key }) => key)).not.toContain('command')
    expect(find({ command: ['npx', '-y'] }, 'command')).toMatchObject({ kind: 'lines', text: 'npx\n-y' })
  })

  it('leaves out what it would change by showing it', () => {
    const odd: Entry = { command: 'x', args: ['two\nlines'], env: { A: { b: 'c' } }, sensitivity: 'odd' }
    expect(toForm(odd).others).toEqual(['args', 'env', 'sensitivity'])
  })

  it('keeps the type of what is unchanged', () => {
    const parse = (name: string, text: string) => parseField(find(COMMAND, name), text, COMMAND)
    expect(parse('args', '-y\n5\nz')).toEqual({ value: ['-y', 5, 'z'] })
    expect(parse('env', 'PORT=8080\nKEY=•••\nMORE=a=b\n')).toEqual({ value: { PORT: 8080, KEY: '•••', MORE: 'a=b' } })
    expect(parse('read_timeout', '30')).toEqual({ value: 30 })
    expect(parse('read_timeout', '30s')).toEqual({ value: '30s' })
    expect(parse('cwd', ' ')).toEqual({ value: null })
  })

  it.each(['wrong', '=x', 'A=1\nA=2'])('refuses variables such as %j', (text) => {
    expect(parseField(find(COMMAND, 'env'), text, COMMAND)).toHaveProperty('problem')
  })
})
