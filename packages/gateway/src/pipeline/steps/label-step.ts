import {
  isAtLeast,
  isPrivate,
  networkModeFor,
  type Permission,
  type PolicyValue,
  quoteForShell,
  quoteText,
  type Sensitivity,
  type Step,
  type Verdict,
} from '@sallyport/core'
import { reviewName } from '../../catalog/catalog.ts'
import type { LabelSettings, PrivateRoute } from '../../config/config.ts'
import { computePin, PUBLIC_LABEL, type SessionLabel } from '../../governance/governance.ts'
import { unsandboxedError } from '../../sandbox/sandbox.ts'
import type { Call } from '../call.ts'
import type { CallContext } from './call-context.ts'

export interface LabelStepOptions {
  readonly labelSettings: () => LabelSettings
  /** `undefined`: calls of the server may send data anywhere. */
  readonly privateRouteOf: (server: string) => PrivateRoute | undefined
  /** Whether its entry refuses the sandbox that others have: it does not run for a private session, whatever the call. */
  readonly refusesSandbox?: ((server: string) => boolean) | undefined
}

/** What the step looks at of a call. */
export type LabelledCallFacts = Pick<CallContext, 'label' | 'rules' | 'grant'> & { readonly call: Pick<Call, 'offer'> }

const NO_LABEL: Verdict = Object.freeze({ outcome: 'allow', reason: 'the session has seen no private data' })

/**
 * A session that holds private data must not send it out: tools with CONNECT are refused. The isolated instance of the
 * server, an allowed host, and a person who has read this one call can let it pass.
 */
export const labelStep = (options: LabelStepOptions): Step<CallContext> => ({
  name: 'label',
  evaluate: (subject) => (subject.label === PUBLIC_LABEL ? NO_LABEL : decideByLabel(subject, options)),
})

/** Whether a session with this label may make the call. */
export function decideByLabel(subject: LabelledCallFacts, options: LabelStepOptions): Verdict {
  const { label, rules, call, grant } = subject
  const { privateFrom, untrusted } = options.labelSettings()
  if (!isPrivate(label.sensitivity, privateFrom)) return allowed(`the session is ${label.sensitivity}`)
  if (options.refusesSandbox?.(call.offer.server)) return cannotRun(subject, privateFrom)
  const { permission } = rules.policy
  // The person read another definition if the server has changed it since.
  const isGranted = grant?.isForPrivateData === true && grant.definition === computePin(call.offer)
  if (permission.value.includes('CONNECT')) {
    const route = options.privateRouteOf(call.offer.server)
    const isRouted =
      route === 'isolated-instance' ||
      route === 'sandbox' ||
      (route === 'allowed-host' && !isAtLeast(label.sensitivity, 'SECRET'))
    if (!isRouted) return isGranted ? approvedBy(subject) : refuse(subject, route)
    if (untrusted && label.isUntrusted) return isGranted ? approvedBy(subject) : askAfterUntrusted(subject)
    return allowed(ROUTE_REASONS[route])
  }
  if (untrusted && label.isUntrusted && permission.value.includes('WRITE') && !isGranted)
    return askAfterUntrusted(subject)
  return allowed(`the session is ${label.sensitivity}, and the tool does not reach out`)
}

const ROUTE_REASONS: Readonly<Record<PrivateRoute, string>> = {
  'isolated-instance': 'it goes to the isolated instance',
  'allowed-host': 'its host may be reached with private data',
  sandbox: 'its process is in a sandbox, which lets out no more than the label of the session allows',
}

const verdicts = new Map<string, Verdict>()

/** The same object each time, so that equal decisions can be cached. */
function allowed(reason: string): Verdict {
  const known = verdicts.get(reason)
  if (known) return known
  const verdict: Verdict = { outcome: 'allow', reason }
  verdicts.set(reason, verdict)
  return verdict
}

const approvedBy = ({ grant }: LabelledCallFacts): Verdict => ({
  outcome: 'allow',
  reason: `${grant?.by} approved this one call of a private session`,
})

const MAX_SHOWN_NAMES = 3
const MAX_SHOWN_CHARS = 60

/** What the session has seen, for the model and for the person who is asked. */
function describeLabel({ sensitivity, datasets, problem }: SessionLabel): string {
  if (problem !== undefined) return `counts as ${sensitivity}, because its label cannot be read`
  const highest = datasets.filter((dataset) => dataset.sensitivity === sensitivity)
  const names = highest.slice(0, MAX_SHOWN_NAMES).map(({ name }) => quoteText(name, MAX_SHOWN_CHARS))
  const more = highest.length > MAX_SHOWN_NAMES ? ` and ${highest.length - MAX_SHOWN_NAMES} more` : ''
  return `holds private data (${sensitivity}: ${names.join(', ')}${more})`
}

function refuse({ call, label, rules }: LabelledCallFacts, route: PrivateRoute | undefined): Verdict {
  const { server, name } = call.offer
  const why = route === 'allowed-host' ? 'its host is allowed for CONFIDENTIAL data only' : 'it may reach out (CONNECT)'
  const reason = `${name} of server ${server} was not called: ${why}, and this session ${describeLabel(label)}.`
  return { outcome: 'ask', code: 'PRIVATE_SESSION', reason, ...ruleOf(rules.policy.permission) }
}

function cannotRun({ call, label }: LabelledCallFacts, privateFrom: Sensitivity): Verdict {
  const { code, text } = unsandboxedError(call.offer.server, networkModeFor(label.sensitivity, privateFrom))
  return { outcome: 'deny', code, reason: text }
}

function askAfterUntrusted({ call, label, rules }: LabelledCallFacts): Verdict {
  const { server, name } = call.offer
  const reason = `${name} of server ${server} needs a person: this session ${describeLabel(label)} and has also read untrusted text, which could have told it to make this call.`
  return { outcome: 'ask', code: 'PRIVATE_SESSION', reason, ...ruleOf(rules.policy.permission) }
}

const ruleOf = ({ rule }: PolicyValue<readonly Permission[]>) => (rule ? { rule } : {})

export interface RemedyOptions extends Pick<LabelStepOptions, 'labelSettings'> {
  /** The routes that the operator can give to a server. */
  readonly possibleRoutesOf: (server: string) => readonly PrivateRoute[]
}

/** What can be done instead, for the error of a refused call: only what would let it pass. */
export const describeRemedies = (
  context: Pick<LabelledCallFacts, 'call' | 'label'>,
  approval: string | undefined,
  options: RemedyOptions,
): string => `What can be done: ${listRemedies(context, approval, options).join('; ')}.`

export function listRemedies(
  { call, label }: Pick<LabelledCallFacts, 'call' | 'label'>,
  approval: string | undefined,
  { labelSettings, possibleRoutesOf }: RemedyOptions,
): readonly string[] {
  const { server, kind } = call.offer
  // Then no route is enough, and a person has to read every call that writes, too.
  const isStrict = labelSettings().untrusted && label.isUntrusted
  const routes = isStrict ? [] : possibleRoutesOf(server)
  const usable = routes.filter((route) => route !== 'allowed-host' || !isAtLeast(label.sensitivity, 'SECRET'))
  return [
    ...(approval === undefined
      ? []
      : [
          `a person can read and approve this one call (sallyport approvals approve ${approval}), then make the same call again`,
        ]),
    `continue with tools that ${isStrict ? 'neither write nor' : 'do not'} reach out`,
    ...usable.map((route) => ROUTE_REMEDIES[route](server)),
    ...(kind === 'tool'
      ? [
          `or, if this tool ${isStrict ? 'writes nothing and ' : ''}reaches out to nobody, write so in tools.yaml (${quoteForShell(reviewName(call.offer))}: permission: [READ])`,
        ]
      : []),
    'or do this step in a new session, which has not read private data or reads it with a tool that is isolated (isolated: {returns: …} in tools.yaml)',
  ]
}

const ROUTE_REMEDIES: Readonly<Record<PrivateRoute, (server: string) => string>> = {
  'allowed-host': (server) => `the operator can allow the host of ${server} (sandbox.proxied.allow in config.yaml)`,
  'isolated-instance': (server) => `the operator can give ${server} an isolated instance (url_isolated)`,
  sandbox: (server) => `the operator can run ${server} in a sandbox (sandbox: auto)`,
}
