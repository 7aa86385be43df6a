import { formatDuration, type LoggedEvent, type RuleSource } from '@sallyport/core'
import { fixOf } from './error-fix.ts'
import type { Explanation } from './gateway-client.ts'
import { localTime } from './local-time.ts'
import type { Fact } from './table.ts'
import { visibleLine } from './terminal-text.ts'

type Call = Explanation['calls'][number]
type Kind<Type extends LoggedEvent['type']> = Extract<LoggedEvent, { type: Type }>
type Opening = Kind<'TOOL_CALL_STARTED'> | Kind<'POLICY_DENIED'>
type Ending = Kind<'TOOL_CALL_COMPLETED'> | Kind<'TOOL_CALL_FAILED'>

/** The life of one call, for a person. */
export function explainCall(call: Call): readonly Fact[] {
  const records = call.records as unknown as readonly LoggedEvent[]
  const opening = records.find((record): record is Opening => isOneOf(record, 'TOOL_CALL_STARTED', 'POLICY_DENIED'))
  const ending = records.find((record): record is Ending => isOneOf(record, 'TOOL_CALL_COMPLETED', 'TOOL_CALL_FAILED'))
  const known = opening ?? ending
  return [
    { name: 'call', value: call.call_id },
    { name: 'trace', value: call.trace_id },
    ...(known ? subject(known) : []),
    ...(opening ? decision(opening) : [{ name: 'decision', value: 'its record is no longer kept' }]),
    ...outcome(opening, ending),
  ]
}

function subject(event: Opening | Ending): readonly Fact[] {
  const { user, agent, profile, session, method, tool_name, server, is_mcp } = event
  return [
    { name: 'when', value: localTime(event.time) },
    { name: 'who', value: visibleLine(`${user}, agent ${agent}, profile ${profile}, session ${session}`) },
    { name: 'what', value: visibleLine(`${method} ${tool_name}`) },
    { name: 'server', value: is_mcp ? visibleLine(server) : `${visibleLine(server)} (the gateway's own)` },
  ]
}

function decision(event: Opening): readonly Fact[] {
  const steps = Object.entries(event.steps).map(([step, said]) => `${step}: ${visibleLine(said)}`)
  const { decided_by: by } = event
  return [
    { name: 'steps', value: steps.join('\n') },
    { name: 'decision', value: event.type === 'POLICY_DENIED' ? 'refused' : 'allowed' },
    { name: 'decided by', value: by && `${by.step}: ${visibleLine(by.reason)}` },
    { name: 'rule', value: by?.rule && ruleText(by.rule) },
  ]
}

function outcome(opening: Opening | undefined, ending: Ending | undefined): readonly Fact[] {
  if (opening?.type === 'POLICY_DENIED') return [dispatched('no'), ...failure(opening)]
  if (ending === undefined)
    return [dispatched('yes'), { name: 'answer', value: 'none is recorded: it still runs, or the gateway was killed' }]
  const latency: Fact = { name: 'latency', value: formatDuration(ending.latency_ms) }
  if (ending.type === 'TOOL_CALL_FAILED') return [dispatched('yes'), latency, ...failure(ending)]
  const answer = ending.success ? 'a result' : 'an error of the tool itself'
  return [dispatched('yes'), latency, { name: 'answer', value: `${answer}, ${ending.bytes} bytes` }]
}

const dispatched = (value: 'yes' | 'no'): Fact => ({ name: 'dispatched', value })

function failure({ error, message }: Kind<'POLICY_DENIED'> | Kind<'TOOL_CALL_FAILED'>): readonly Fact[] {
  return [
    { name: 'error', value: `${error}: ${visibleLine(message)}` },
    { name: 'fix', value: fixOf(error) },
  ]
}

const ruleText = ({ file, line }: RuleSource): string => visibleLine(line === 0 ? file : `${file}:${line}`)

const isOneOf = (event: LoggedEvent, ...types: readonly LoggedEvent['type'][]): boolean => types.includes(event.type)
