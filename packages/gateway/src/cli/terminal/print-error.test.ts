import { ERRORS, type ErrorCode, SallyportError } from '@sallyport/core'
import { describe, expect, it } from 'vitest'
import { describeError, exitCodeOf } from './print-error.ts'

const FOR_PEOPLE = { json: false, debug: false }

describe('a failure', () => {
  it('shows its code, what happened and what to do', () => {
    const error = new SallyportError('TOOL_UNKNOWN', 'There is no tool "x".', { hint: 'See `sallyport tools`.' })
    expect(describeError(error, FOR_PEOPLE)).toBe('✗ TOOL_UNKNOWN There is no tool "x".\n  See `sallyport tools`.')
  })

  it('is one line of JSON for a program', () => {
    const error = new SallyportError('TOOL_UNKNOWN', 'No.\nReally.', { hint: 'Look.' })
    expect(describeError(error, { json: true, debug: false })).toBe(
      '{"error":{"code":"TOOL_UNKNOWN","message":"No.\\nReally.","hint":"Look."}}',
    )
  })

  it('cannot control the terminal with text from a server', () => {
    const error = new SallyportError('UPSTREAM_DIED', 'It said \u001b[2J\rgone')
    expect(describeError(error, FOR_PEOPLE)).toBe('✗ UPSTREAM_DIED It said \\u001b[2J\\u000dgone')
  })

  it('that is a bug gets an incident id and shows its stack only in debug mode', () => {
    const bug = new TypeError('x is undefined')
    expect(describeError(bug, FOR_PEOPLE)).toMatch(
      /^✗ INTERNAL .*incident [0-9a-f]{8}.*TypeError: x is undefined\n.*SALLYPORT_DEBUG=1/,
    )
    expect(describeError(bug, FOR_PEOPLE)).not.toContain('print-error.test.ts')
    expect(describeError(bug, { json: false, debug: true })).toContain('print-error.test.ts')
  })

  it('ends with the exit code of its kind', () => {
    const exits = new Set([0, 1, 2, 3, 4, 5, 6, 130])
    for (const code of Object.keys(ERRORS) as ErrorCode[]) {
      expect(exitCodeOf(new SallyportError(code, ''))).toBe(ERRORS[code].exit)
      expect(exits).toContain(ERRORS[code].exit)
    }
    expect(exitCodeOf(new TypeError())).toBe(1)
    expect(exitCodeOf(new SallyportError('CALL_DENIED', ''))).toBe(4)
    expect(exitCodeOf(new SallyportError('UPSTREAM_DIED', ''))).toBe(5)
    expect(exitCodeOf(new SallyportError('CALL_CANCELLED', ''))).toBe(130)
  })

  it('is not called a bug if a package is missing: it reports an incomplete installation', () => {
    const error = Object.assign(new Error("Cannot find package 'jose' imported from /x.js"), {
      code: 'ERR_MODULE_NOT_FOUND',
    })
    const text = describeError(error, { json: false, debug: false })
    expect(text).toContain('The package jose is missing.')
    expect(text).toContain('Install it again')
    expect(text).not.toContain('bug')
  })
})
