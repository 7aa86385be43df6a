import { createHash } from 'node:crypto'
import {
  canonicalName,
  compileNameGlob,
  hashedNames,
  type LoggedEvent,
  mcpName,
  plainName,
  type ToolRef,
} from '@sallyport/core'
import type { EventFilter } from './records.ts'

type Test = (record: Readonly<Record<string, unknown>>) => boolean

/** Defines what a filter means, as a test of one record. The index only finds candidates faster. */
export function createEventMatcher(filter: EventFilter): (event: LoggedEvent) => boolean {
  const tests = [...equalities(filter), ...timeTests(filter)]
  const { tool, types } = filter
  if (types !== undefined) tests.push((record) => (types as readonly unknown[]).includes(record.type))
  if (tool !== undefined) tests.push(toolTest(tool))
  return (event) => tests.every((test) => test(event as unknown as Readonly<Record<string, unknown>>))
}

/** The fields that a filter compares for equality, by their names in the record. */
export function equalFields(filter: EventFilter): ReadonlyMap<string, string> {
  const fields = new Map<string, string>()
  if (filter.agent !== undefined) fields.set('agent', filter.agent)
  if (filter.session !== undefined) fields.set('session', filter.session)
  if (filter.server !== undefined) fields.set('server', filter.server)
  if (filter.traceId !== undefined) fields.set('trace_id', filter.traceId)
  if (filter.callId !== undefined) fields.set('call_id', filter.callId)
  return fields
}

export function maxResults(filter: EventFilter): number {
  return filter.limit === undefined ? Number.POSITIVE_INFINITY : Math.max(0, Math.floor(filter.limit))
}

function equalities(filter: EventFilter): Test[] {
  return [...equalFields(filter)].map(
    ([field, value]) =>
      (record) =>
        record[field] === value,
  )
}

function timeTests({ since, until }: EventFilter): Test[] {
  const tests: Test[] = []
  if (since !== undefined) tests.push(({ time }) => Date.parse(String(time)) >= since.getTime())
  if (until !== undefined) tests.push(({ time }) => Date.parse(String(time)) <= until.getTime())
  return tests
}

function toolTest(pattern: string): Test {
  const matches = createToolMatcher(pattern)
  return ({ tool_name, server }) => matches(tool_name, server)
}

/**
 * A tool may be named as it is recorded, as `server/tool`, as clients call it, or by its own name alone; each may be a
 * glob.
 */
export function createToolMatcher(pattern: string): (toolName: unknown, server: unknown) => boolean {
  const matches = compileNameGlob(pattern)
  // Only a filter with a hash costs a hash for each record: every other one also matches the plain name.
  const namesHash = /_[0-9a-f]{8,}$/.test(pattern)
  return (toolName, server) => {
    if (typeof toolName !== 'string') return false
    if (matches(toolName)) return true
    const ref = parseRecordedTool(toolName, String(server))
    return (
      ref !== undefined && (listNameForms(ref).some(matches) || (namesHash && hashedNames(ref, digest).some(matches)))
    )
  }
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

function parseRecordedTool(recorded: string, server: string): ToolRef | undefined {
  const head = canonicalName({ server, tool: '' })
  return recorded.startsWith(head) ? { server, tool: recorded.slice(head.length) } : undefined
}

const listNameForms = (ref: ToolRef): readonly string[] => [
  `${ref.server}/${ref.tool}`,
  plainName(ref),
  mcpName(ref),
  ref.tool,
]
