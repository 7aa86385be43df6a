// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are what is tested.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { expandVars } from './expand-vars.ts'

const from =
  (variables: Readonly<Record<string, string>>) =>
  (name: string): string | undefined =>
    Object.hasOwn(variables, name) ? variables[name] : undefined

const expanded = (text: string, variables: Readonly<Record<string, string>> = {}): string | undefined => {
  const expansion = expandVars(text, from(variables))
  return expansion.ok ? expansion.value : undefined
}

const messagesOf = (text: string, variables: Readonly<Record<string, string>> = {}): readonly string[] => {
  const expansion = expandVars(text, from(variables))
  return expansion.ok ? [] : expansion.issues.map((issue) => issue.message)
}

const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,12}$/)
const plain = fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('$'))

describe('expanding variables', () => {
  it('inserts the value of a variable into the text', () => {
    expect(expanded('postgres://${USER}@${HOST}/db', { USER: 'ann', HOST: 'h' })).toBe('postgres://ann@h/db')
  })

  it('uses the default if the variable is unset or empty', () => {
    expect(expanded('${PORT:-4747}')).toBe('4747')
    expect(expanded('${PORT:-4747}', { PORT: '' })).toBe('4747')
    expect(expanded('${PORT:-}')).toBe('')
    expect(expanded('${PORT:-a:-b:?c}')).toBe('a:-b:?c')
  })

  it('uses a variable that is set but empty', () => {
    expect(expanded('[${EMPTY}]', { EMPTY: '' })).toBe('[]')
  })

  it('names every unset variable, with its message', () => {
    expect(messagesOf('${A} ${B:?ask the owner} ${C:?}', { C: '' })).toEqual([
      'the variable A is not set',
      'the variable B is not set: ask the owner',
      'the variable C is not set',
    ])
  })

  it('treats a doubled dollar before a brace as a literal reference', () => {
    expect(expanded('$${HOME} $$${HOME}', { HOME: '/root' })).toBe('${HOME} $${HOME}')
    expect(expanded('$5 $HOME $(x) $', {})).toBe('$5 $HOME $(x) $')
  })

  it('reports whether a value came from a variable', () => {
    expect(expandVars('$${A}', from({}))).toEqual({ ok: true, value: '${A}', used: false })
    expect(expandVars('${A:-x}', from({}))).toEqual({ ok: true, value: 'x', used: true })
  })

  it.each(['${', '${A', '${}', '${env:A}', '${1A}', '${A-b}', '${A:=b}', '${A:-${B}}', '${ A }'])(
    'refuses %s as malformed',
    (text) => {
      const expansion = expandVars(text, from({ A: 'a', B: 'b' }))
      expect(expansion.ok ? undefined : expansion.issues[0]?.kind).toBe('malformed')
    },
  )

  it('does not change a text without a dollar', () => {
    fc.assert(
      fc.property(plain, (text) => {
        expect(expanded(text)).toBe(text)
      }),
    )
  })

  it('never expands the value of a variable', () => {
    fc.assert(
      fc.property(name, fc.string(), plain, plain, (variable, value, before, after) => {
        expect(expanded(`${before}\${${variable}}${after}`, { [variable]: value })).toBe(before + value + after)
      }),
    )
  })

  it('returns any text whose references are escaped', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('${', '}', '$ ', 'A', ':-', ' ')), (parts) => {
        const text = parts.join('')
        expect(expanded(text.replaceAll('${', '$$${'))).toBe(text)
      }),
    )
  })

  it('never throws, and never reports the value of a variable', () => {
    const secret = 'S3CRET-VALUE'
    const part = fc.constantFrom('${', '}', '$', 'A', 'B', ':-', ':?', ':', ' ', '{')
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        expect(JSON.stringify(messagesOf(parts.join(''), { A: secret }))).not.toContain(secret)
      }),
    )
  })
})
