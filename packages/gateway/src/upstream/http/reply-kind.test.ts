import { expect, it } from 'vitest'
import { classifyReply } from './reply-kind.ts'

it.each([
  [200, { 'content-type': 'application/json' }, 'json'],
  [200, { 'content-type': 'Application/JSON; charset=utf-8' }, 'json'],
  [200, { 'content-type': 'application/problem+json' }, 'json'],
  [200, {}, 'json'],
  [200, { 'content-type': 'text/event-stream' }, 'events'],
  [200, { 'content-type': 'text/event-stream;charset=UTF-8' }, 'events'],
  [200, { 'content-type': 'text/html' }, 'foreign'],
  [200, { 'content-type': ['application/json', 'text/html'] }, 'foreign'],
  [200, { 'content-type': 'application/json', 'content-encoding': 'br' }, 'foreign'],
  [200, { 'content-type': 'application/json', 'content-encoding': 'identity' }, 'json'],
  [202, { 'content-type': 'application/json' }, 'none'],
  [204, {}, 'none'],
  [400, { 'content-type': 'application/json' }, 'refusal'],
  [304, {}, 'refusal'],
])('reads HTTP %i with %j as %s', (status, headers, kind) => {
  expect(classifyReply(status, headers)).toBe(kind)
})
