import { expect, it } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { tokenVariableName } from '../agents/token-variable.ts'
import { isTokenVariable } from './token-variable.ts'

it(`${promise('AG-16')} each profile has its own variable, which a shell can set`, () => {
  const variants = [
    'default',
    'reviewer',
    'code-review',
    'code_review',
    'code review',
    'code--review',
    'prüfer',
    'ä',
    'ö',
  ]
  const names = variants.map((variant) => tokenVariableName('cursor', variant))
  expect(new Set(names).size).toBe(variants.length)
  for (const name of names) expect(name).toMatch(/^SALLYPORT_TOKEN_CURSOR[A-Z0-9_]*$/)
  expect(names.every(isTokenVariable)).toBe(true)
  expect(names.slice(0, 3)).toEqual([
    'SALLYPORT_TOKEN_CURSOR',
    'SALLYPORT_TOKEN_CURSOR_REVIEWER',
    'SALLYPORT_TOKEN_CURSOR_CODE_REVIEW',
  ])
  expect(tokenVariableName('cursor', 'REVIEWER')).toBe(tokenVariableName('cursor', 'reviewer'))
})
