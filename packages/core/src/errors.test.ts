import { describe, expect, it } from 'vitest'
import { ERRORS, type ErrorKind, SallyportError } from './errors.ts'

const kinds = Object.entries<ErrorKind>(ERRORS)

describe('the table of errors', () => {
  it('gives each code a status, a JSON-RPC code and an exit code that exist', () => {
    for (const [code, { http, rpc, exit }] of kinds) {
      expect(http, code).toSatisfy((status: number) => status >= 400 && status < 600)
      expect(rpc, code).toSatisfy((number: number) => number >= -32_768 && number <= -32_000)
      expect([1, 2, 3, 4, 5, 6, 130], code).toContain(exit)
    }
  })

  it('exits with 5 for every unavailable server, and with 4 for every refusal', () => {
    for (const [code, { http, exit }] of kinds) {
      if (http === 503 || http === 504) expect(exit, code).toBe(5)
      if (http === 401 || http === 403) expect(exit, code).toBe(4)
    }
  })

  it('does not show bad requests, credentials and bugs to the model', () => {
    const shown = kinds.filter(([, { forModel }]) => forModel).map(([code]) => code)
    expect(
      shown.filter(
        (code) =>
          !/^(UPSTREAM_|ARGUMENTS_|DEFINITION_CHANGED|MODE_FORBIDS|RATE_LIMITED|SECRET_REFUSED|PAGE_REFUSED|CAPABILITY_MISSING|CLIENT_REFUSED|CALL_DENIED|PRIVATE_SESSION|COUNTERPART_DIFFERS|APPROVAL_|AUDIT_|RESULT_|OVERLOADED|ISOLATION_|MODEL_UNAVAILABLE|EXECUTOR_MISSING|SANDBOX_UNAVAILABLE)/.test(
            code,
          ),
      ),
    ).toEqual([])
  })
})

describe('an error', () => {
  it('carries its code, its kind, its hint and its cause', () => {
    const cause = new Error('deep')
    const error = new SallyportError('TOOL_UNKNOWN', 'There is no tool.', { hint: 'Check the name.', cause })
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({ name: 'SallyportError', code: 'TOOL_UNKNOWN', hint: 'Check the name.', cause })
    expect(error.kind).toBe(ERRORS.TOOL_UNKNOWN)
    expect(error.text).toBe('There is no tool. Check the name.')
  })

  it('has only its message as text if there is no hint, and has no empty cause', () => {
    const error = new SallyportError('INTERNAL', 'Broken.')
    expect(error.text).toBe('Broken.')
    expect('cause' in error).toBe(false)
  })
})
