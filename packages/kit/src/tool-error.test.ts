import { expect, test } from 'vitest'
import { ConnectorError } from './connectors/connector-error.ts'
import { describeToolError, ToolFatalError, ToolRetryError } from './tool-error.ts'

const noBug = (): string => {
  throw new Error('asked for an incident')
}

test('a retryable error has its own text, without a prefix', () => {
  expect(describeToolError(new ToolRetryError('Give a search term.'), noBug)).toEqual({
    kind: 'retry',
    text: 'Give a search term.',
    facts: { kind: 'retry', reason: 'Give a search term.' },
  })
})

test('a fatal error begins with [FATAL] and has the next step apart from the reason', () => {
  const error = new ToolFatalError('The database is down.', { nextStep: 'Start it.' })
  expect(describeToolError(error, noBug)).toEqual({
    kind: 'fatal',
    text: '[FATAL] The database is down. Start it.',
    facts: { kind: 'fatal', reason: 'The database is down.', next_step: 'Start it.' },
  })
})

test('a connector’s error becomes a tool error by its member retryable', () => {
  expect(describeToolError(new ConnectorError('No such column.', { retryable: true }), noBug)).toMatchObject({
    kind: 'retry',
    text: 'No such column.',
  })
  const broken = new ConnectorError('The disk is full.', { retryable: false, nextStep: 'Make room.' })
  expect(describeToolError(broken, noBug)).toMatchObject({
    kind: 'fatal',
    text: '[FATAL] The disk is full. Make room.',
  })
})

test('anything else is a bug: the caller learns only the incident id', () => {
  const failure = describeToolError(new TypeError('password=hunter2'), () => 'abc123')
  expect(failure.kind).toBe('bug')
  expect(failure.text).toContain('abc123')
  expect(JSON.stringify(failure)).not.toContain('hunter2')
})

test('the cause stays with the error for the log', () => {
  const cause = new Error('root')
  expect(new ToolRetryError('x', { cause }).cause).toBe(cause)
  expect(new ToolFatalError('x', { cause }).cause).toBe(cause)
})
