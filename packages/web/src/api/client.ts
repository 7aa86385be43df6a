import { hc } from 'hono/client'
import type { Api } from '../../../gateway/src/serve/api/api.ts'

/** Proves that this page sent the request: forms and pages of other origins cannot set it. */
const OWN_HEADERS = { 'x-sallyport': '1' }

const REQUEST_TIMEOUT_MS = 20_000

/** Every path of the API with the types that the gateway itself uses. */
export const { api } = hc<Api>(location.origin, { headers: OWN_HEADERS, fetch: fetchFromGateway })

/** A refusal in the gateway's own words. */
export class ApiError extends Error {
  readonly code: string
  readonly hint: string | undefined
  readonly status: number

  constructor({ code, message, hint, status }: { code: string; message: string; hint?: string; status: number }) {
    super(message)
    this.code = code
    this.hint = hint
    this.status = status
  }
}

interface JsonResponse {
  readonly ok: boolean
  readonly status: number
  json(): Promise<unknown>
}

type SuccessBody<Response> = Response extends { readonly ok: true; json(): Promise<infer Body> } ? Body : never

/** The body of a successful answer; throws ApiError for everything else. */
export async function read<Response extends JsonResponse>(pending: Promise<Response>): Promise<SuccessBody<Response>> {
  const response = await pending
  if (response.ok) return (await response.json()) as SuccessBody<Response>
  throw await toApiError(response)
}

async function toApiError(response: JsonResponse): Promise<ApiError> {
  const { status } = response
  const body = (await response.json().catch(() => undefined)) as
    | { readonly error?: { readonly code: string; readonly message: string; readonly hint?: string } }
    | undefined
  return new ApiError({
    ...(body?.error ?? { code: 'INTERNAL', message: `The gateway answered HTTP ${status}.` }),
    status,
  })
}

async function fetchFromGateway(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const timeout = AbortSignal.timeout(REQUEST_TIMEOUT_MS)
  const signal = init?.signal ? AbortSignal.any([init.signal, timeout]) : timeout
  const response = await fetch(input, { ...init, signal }).catch((cause: unknown) => {
    if (init?.signal?.aborted) throw cause
    const seconds = REQUEST_TIMEOUT_MS / 1_000
    throw new Error(
      timeout.aborted ? `The gateway did not answer within ${seconds} s.` : 'The gateway cannot be reached.',
      { cause },
    )
  })
  // The login has ended: the gateway answers a reload with the page that says how to log in again.
  if (response.status === 401) location.reload()
  return response
}

/** Loads the login page if the login has ended. */
export const checkLogin = (): Promise<unknown> => fetchFromGateway('/api/me', { headers: OWN_HEADERS })

/** Works without loading the API: in an emergency that may be what is overloaded. */
export async function panic(): Promise<void> {
  const response = await fetchFromGateway('/panic?via=web', { method: 'POST', headers: OWN_HEADERS })
  if (!response.ok) throw await toApiError(response)
}

export async function logOut(): Promise<void> {
  await fetch('/logout', { method: 'POST', headers: OWN_HEADERS })
  location.assign('/')
}
