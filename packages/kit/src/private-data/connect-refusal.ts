import { isAtLeast, isPrivate, quoteText, type Sensitivity } from '@sallyport/core'
import type { RequestScope } from '../identity/identity.ts'
import { isPrivateInGateway } from './gateway-privacy.ts'
import type { Label } from './label.ts'
import { getLabelStore } from './session-data.ts'

/** Why a call is refused, and what can be done instead: for the model and its user. */
export interface ConnectRefusal {
  readonly reason: string
  readonly nextStep: string
}

const MAX_SHOWN_NAMES = 3
const MAX_SHOWN_CHARS = 60

/**
 * Checked right before a tool with CONNECT runs, in the store that all processes share. A call that began before the
 * label rose is not stopped: what it sends was prepared before the private data was there.
 */
export async function findConnectRefusal(
  tool: string,
  scope: RequestScope,
  privateFrom: Sensitivity,
): Promise<ConnectRefusal | undefined> {
  const label = await getLabelStore(scope.dataFolder).read(scope)
  const hasPrivateData = isPrivate(label.sensitivity, privateFrom)
  if (!hasPrivateData && !isPrivateInGateway(scope)) return undefined
  if (isApproved(tool, scope, label.sensitivity)) return undefined
  const why = hasPrivateData ? describeLabel(label) : 'is private in the gateway'
  return {
    reason: `${tool} was not run: it reaches out (CONNECT), and this session ${why}.`,
    nextStep:
      'Continue with tools that do not reach out, ask the user to do this step, or do it in a new session that has not read private data.',
  }
}

/** The sensitivity of the session when an approved call began. Each call has its own scope object. */
const approvedAt = new WeakMap<RequestScope, Sensitivity>()

/** A person saw what this call would send. What it receives later, from a session that became more sensitive, nobody saw. */
function isApproved(tool: string, scope: RequestScope, sensitivity: Sensitivity): boolean {
  if (scope.gateway?.approvedTool !== tool) return false
  const seen = approvedAt.get(scope) ?? sensitivity
  approvedAt.set(scope, seen)
  return isAtLeast(seen, sensitivity)
}

function describeLabel({ sensitivity, datasets, problem }: Label): string {
  if (problem !== undefined)
    return `counts as ${sensitivity}, because its label cannot be read (the server's log says why)`
  const guarded = datasets.filter((dataset) => dataset.sensitivity === sensitivity)
  const names = guarded.slice(0, MAX_SHOWN_NAMES).map(({ name }) => quoteText(name, MAX_SHOWN_CHARS))
  const more = guarded.length > MAX_SHOWN_NAMES ? ` and ${guarded.length - MAX_SHOWN_NAMES} more` : ''
  return `holds private data (${sensitivity}: ${names.join(', ')}${more})`
}
