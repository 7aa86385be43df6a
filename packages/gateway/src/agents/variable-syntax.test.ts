// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts show references.

import { expandVars } from '@sallyport/core'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import * as syntaxes from './variable-syntax.ts'

const { translateVariables, ...named } = syntaxes

const expanded = (text: string): string => {
  const result = expandVars(text, (name) => `<${name}>`)
  return result.ok ? result.value : `failed: ${result.issues[0]?.message}`
}

describe('references to variables', () => {
  it.each([
    ['NO_VARIABLES', '${A} $B {env:C}', '${A} $B {env:C}'],
    ['BRACED', '${A} $B ${C:-d} ${1x} ${bad', '<A> $B <C> ${1x} ${bad'],
    ['SHELL_LIKE', '${A} $B ${C:-d} $1 $$', '<A> <B> <C> $1 $$'],
    ['SHELL_WITH_COMMANDS', '$A $(cat /x) ${B}', '<A> $(cat /x) <B>'],
    ['ENV_COLON', '{env:A} ${A} {file:x} {env:}', '<A> ${A} {file:x} {env:}'],
    [
      'EDITOR',
      '${env:A} ${userHome} ${workspaceFolder} ${input:my-key}',
      '<A> <HOME> ${workspaceFolder} <INPUT_MY_KEY>',
    ],
    ['DOUBLE_BRACED', '${{ secrets.A }} ${A} ${{ inputs.B }}', '<A> ${A} <B>'],
  ] as const)('of %s mean the same in our files: %s', (syntax, text, meaning) => {
    expect(expanded(translateVariables(text, named[syntax]).text)).toBe(meaning)
  })

  it('inside a default are not treated as references', () => {
    const { text, notes } = translateVariables('${A:-${B}}', named.BRACED)
    expect(expanded(text)).toBe('${A:-${B}}')
    expect(notes).toEqual(['A reference has no counterpart and stays as plain text.'])
  })

  it('are never created from text without references, whatever it looks like', () => {
    const texts = fc.string({ unit: fc.constantFrom(...'${}:-?AB ', '${', '$${', '}'), maxLength: 30 })
    fc.assert(
      fc.property(texts, (text) => {
        const { text: translated } = translateVariables(text, named.NO_VARIABLES)
        expect(expanded(translated)).toBe(text)
      }),
    )
  })

  it('are always valid in our files, from every syntax', () => {
    const texts = fc.string({
      unit: fc.constantFrom(...'${}:-?A1 ', '${', '${A}', '${env:', '{env:A}', '}'),
      maxLength: 20,
    })
    const syntax = fc.constantFrom(...Object.values(named).filter((one) => 'reference' in one))
    fc.assert(
      fc.property(texts, syntax, (text, one) => {
        expect(expanded(translateVariables(text, one).text)).not.toMatch(/^failed/)
      }),
      { numRuns: 1_000 },
    )
  })
})
