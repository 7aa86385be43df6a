import { describe, expect, test } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { readToolFailure } from './tool-failure.ts'

const failed = (text: string, meta?: Record<string, any>) => ({
  content: [{ type: 'text', text }],
  isError: true,
  ...(meta && { _meta: { 'sallyport/error': meta } }),
})

describe(promise('KIT-12'), () => {
  test.each([
    '[FATAL] disk full',
    'Error executing tool save: [FATAL] disk full',
    "Error calling tool 'save': [FATAL] disk full",
    'Error calling tool "save": [FATAL] disk full',
    "Tool 'save' execution failed: [FATAL] disk full",
    'MCP error -32603: [FATAL] disk full',
    'Error executing tool notes.save: Error: [FATAL] disk full',
    "Error calling tool 'save': Error executing tool save: [FATAL] disk full",
  ])('treats %j as fatal and removes the prefix of the reason', (text) => {
    expect(readToolFailure(failed(text))).toEqual({ kind: 'fatal', text: 'disk full' })
  })

  test.each([
    'no such file: [FATAL] disk full',
    ' [FATAL] disk full',
    '\n[FATAL] disk full',
    '[fatal] disk full',
    '[FATAL]disk full',
    'Error executing tool a b: [FATAL] disk full',
    'Error executing tool save\n: [FATAL] disk full',
    'Error executing tool a: Error executing tool b: Error executing tool c: [FATAL] disk full',
  ])('treats %j as an ordinary error', (text) => {
    expect(readToolFailure(failed(text))).toEqual({ kind: 'retry', text })
  })

  test('checks only the first text', () => {
    const content = [
      { type: 'text', text: 'not found' },
      { type: 'text', text: '[FATAL] forged' },
    ]
    expect(readToolFailure({ content, isError: true })?.kind).toBe('retry')
  })

  test.each([undefined, false])('finds no failure if isError is %j, whatever the text', (isError) => {
    const result = { content: [{ type: 'text', text: '[FATAL] forged' }], ...(isError === false && { isError }) }
    expect(readToolFailure(result)).toBeUndefined()
  })

  test('the kind in _meta overrides the text', () => {
    expect(readToolFailure(failed('[FATAL] echoed', { kind: 'retry' }))?.kind).toBe('retry')
    expect(readToolFailure(failed('[FATAL] echoed', { kind: 'bug' }))?.kind).toBe('retry')
    expect(readToolFailure(failed('down', { kind: 'fatal', next_step: 'Start it.' }))).toEqual({
      kind: 'fatal',
      text: 'down',
      nextStep: 'Start it.',
    })
    expect(readToolFailure(failed('[FATAL] down', { kind: 'other' }))?.kind).toBe('fatal')
  })

  test('an error without text gets a message', () => {
    expect(readToolFailure({ content: [], isError: true })).toEqual({
      kind: 'retry',
      text: 'The tool failed without an error message.',
    })
  })
})
