import { isJsonObject, type Json, type JsonObject } from '@sallyport/core'
import {
  CALLER_META,
  createForwardedScope,
  type ForwardedCaller,
  type GatewayCallers,
  type JwtRefusal,
  PURGE_METHOD,
  type RequestScope,
  type SessionStorage,
} from '../identity/identity.ts'
import { errorAnswer, type Incoming, type RpcError } from '../json-rpc.ts'
import { adoptGatewayLabel } from '../private-data/private-data.ts'

type Request = Incoming<'request'>

/** A request, and for whom it is handled; or why it is refused. */
export type Admission =
  | { readonly request: Request; readonly scope: RequestScope | undefined }
  | { readonly error: RpcError }

export interface CallerGateOptions {
  readonly callers: GatewayCallers
  readonly storage: SessionStorage
  /** Whether tokens of the gateway are accepted over this channel. */
  readonly isTrustedChannel: boolean
}

const UNAUTHENTICATED = -32000

/** Finds out for whom the gateway sends a request. */
export class CallerGate {
  readonly #options: CallerGateOptions

  constructor(options: CallerGateOptions) {
    this.#options = options
  }

  /**
   * `scope`: whom the channel itself has authenticated. A promise only if the token is new or for one call, so that the
   * usual request is handled in the tick in which it arrives.
   */
  admit(request: Request, scope: RequestScope | undefined): Admission | Promise<Admission> {
    const token = readCallerToken(request.params)
    if (token === undefined) return { request, scope }
    if (!this.#options.isTrustedChannel) return UNTRUSTED_CHANNEL
    // No handler, log or error must ever see the token.
    const stripped = { ...request, params: withoutCallerToken(request.params) }
    const found = this.#options.callers.verify(token)
    const admit = (caller: ForwardedCaller | JwtRefusal): Admission | Promise<Admission> =>
      'problem' in caller ? refuseToken(caller) : this.#admitCaller(caller, stripped, scope)
    return found instanceof Promise ? found.then(admit) : admit(found)
  }

  #admitCaller(
    caller: ForwardedCaller,
    request: Request,
    own: RequestScope | undefined,
  ): Admission | Promise<Admission> {
    if (own !== undefined && own.userId !== caller.userId) return OTHER_USER
    const scope = createForwardedScope(caller, this.#options.storage)
    if (caller.isPurge) return this.#admitPurge(caller, request, scope)
    if (caller.approvedTool !== undefined) return this.#admitApproved(caller, request, scope)
    const adopting = adoptGatewayLabel(scope)
    return adopting === undefined ? { request, scope } : adopting.then(() => ({ request, scope }))
  }

  async #admitPurge(caller: ForwardedCaller, request: Request, scope: RequestScope): Promise<Admission> {
    if (request.method !== PURGE_METHOD) return OTHER_REQUEST
    return (await this.#options.callers.spend(caller)) ? { request, scope } : SPENT_PURGE
  }

  /** An approval is for one call of one tool. Its token is good for nothing else, whatever else it says. */
  async #admitApproved(caller: ForwardedCaller, request: Request, scope: RequestScope): Promise<Admission> {
    const { method, params } = request
    if (method !== 'tools/call' || params.name !== caller.approvedTool) return OTHER_CALL
    if (!(await this.#options.callers.spend(caller))) return SPENT
    await adoptGatewayLabel(scope)
    return { request, scope }
  }
}

/** The token in a request; `undefined` if there is none. */
export function readCallerToken({ _meta: meta }: JsonObject): Json | undefined {
  return isJsonObject(meta) && Object.hasOwn(meta, CALLER_META) ? (meta[CALLER_META] ?? null) : undefined
}

function withoutCallerToken(params: JsonObject): JsonObject {
  const { [CALLER_META]: _token, ...meta } = params._meta as JsonObject
  return { ...params, _meta: meta }
}

function refuse(reason: string, nextStep: string): { readonly error: RpcError } {
  const facts = { kind: 'refused', reason, next_step: nextStep }
  return errorAnswer(UNAUTHENTICATED, `${reason} ${nextStep}`, { 'sallyport/error': facts })
}

/** For a request that belongs to somebody, but does not say to whom. */
export const CALLER_MISSING = refuse(
  'This server answers only for known callers, and the request has no caller token.',
  'The operator sets "identity: forward" for this server in the config of the gateway, and agents call it through the gateway.',
)

function refuseToken({ problem, certainty }: JwtRefusal): { readonly error: RpcError } {
  const nextStep =
    certainty === 'unverifiable'
      ? 'The keys of the gateway could not be fetched: the operator checks auth.gateway.jwksUri. The next request retries.'
      : 'The operator compares the clock, the keys (auth.gateway) and the server id (auth.gateway.audience) of this server with those of the gateway.'
  return refuse(`The caller token was refused: ${problem}.`, nextStep)
}

const UNTRUSTED_CHANNEL = refuse(
  'The request has a caller token, but it does not come from the gateway.',
  'The operator gives the secret of auth.gateway to the gateway, in the headers of this server.',
)
const OTHER_USER = refuse(
  'The caller token and the bearer token of the request name different users.',
  "The operator removes the user's own token from the headers of this server in the config of the gateway.",
)
const OTHER_CALL = refuse(
  'The caller token was made for one approved call of another tool.',
  'The gateway must not send the token of an approval with any other request.',
)
const OTHER_REQUEST = refuse(
  'The caller token was made for removing what a session has stored.',
  'The gateway must not send it with any other request.',
)
const SPENT_PURGE = refuse(
  'The caller token was made for removing what a session has stored, and was used before.',
  'The gateway makes a new one.',
)
const SPENT = refuse(
  'The caller token was made for one approved call, and was used before.',
  'The call has to be approved again.',
)
