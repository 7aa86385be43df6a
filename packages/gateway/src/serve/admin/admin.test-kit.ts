import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type IncomingHttpHeaders, type RequestOptions, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Principal } from '@sallyport/core'
import { onTestFinished } from 'vitest'
import { createAdminContext } from '../../compose/entry-points.ts'
import type { Gateway } from '../../compose/gateway.ts'
import { openGateway } from '../../compose/open-gateway.ts'
import { type Home, loadSettings, narrowPrincipal } from '../../config/config.ts'
import { readStandingToken } from '../../sessions/local-tokens.test-kit.ts'
import type { CredentialPolicy } from '../../sessions/sessions.ts'
import { openStore } from '../../store/store.ts'
import { openHttpServer } from '../http/http-server.ts'
import { createAdmin } from './admin.ts'
import type { AdminContext } from './admin-context.ts'

const HOSTILE_SERVER = fileURLToPath(new URL('../../../../../tests/fixtures/hostile-server.mjs', import.meta.url))

const CONFIG = {
  governance: { enforce: false },
  mcp_servers: {
    hostile: {
      command: process.execPath,
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference to a variable.
      args: [HOSTILE_SERVER, '--key=${A_VARIABLE}'],
      env: { API_KEY: 'a-secret-of-the-environment' },
      exclude_tools: ['die'],
    },
    remote: {
      url: 'http://127.0.0.1:9/mcp?key=a-secret-query',
      headers: { authorization: 'Bearer a-secret-header' },
      enabled: false,
    },
  },
}

export const OPERATOR: Principal = {
  user: 'ann',
  agent: 'any',
  profile: 'default',
  session: 'operator',
  role: 'operator',
}

export interface TestReply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly body: any
}

export interface AskOptions extends RequestOptions {
  readonly body?: unknown
}

export interface AdminTestGateway {
  readonly gateway: Gateway
  readonly context: AdminContext
  readonly url: string
  readonly origin: string
  readonly operatorToken: string
  readonly agentToken: string
  /** Sends a request without any credential. */
  ask(path: string, options?: AskOptions): Promise<TestReply>
  /** Sends a request with the operator's token. */
  api(path: string, options?: AskOptions): Promise<TestReply>
}

/** A gateway with real servers and an admin plane, until the test ends. `policy`: whether /mcp requires a token. */
export async function openAdminTestGateway(policy: CredentialPolicy = 'required'): Promise<AdminTestGateway> {
  const [home, state] = await Promise.all([temporaryFolder(), temporaryFolder()])
  await writeFile(join(home, 'config.yaml'), JSON.stringify(CONFIG))
  const gateway = await startGateway({ path: home, origin: 'flag' }, state)
  const urls: string[] = []
  const context = buildContext(gateway, urls)
  const listener = await openHttpServer({
    mcp: gateway.httpMcp,
    authenticator: () => gateway.gatekeeper.authenticatorFor(policy),
    failures: gateway.failures,
    admin: createAdmin(context),
    narrow: (principal, profile) =>
      profile === undefined ? principal : narrowPrincipal(gateway.settings.profiles, principal, profile),
    watch: () => () => {},
    publishKeys: () => undefined,
    readiness: () => 'ready',
    onBug: (error) => String(error),
    host: '127.0.0.1',
    port: 0,
    allowedHosts: [],
    allowedOrigins: [],
  })
  urls.push(listener.url)
  onTestFinished(async () => {
    await listener.close()
    await gateway.close('the test is over')
  })
  const operatorToken = readStandingToken(state, 'operator') ?? ''
  const agentToken = readStandingToken(state, 'agent') ?? ''
  const ask: AdminTestGateway['ask'] = (path, options) => exchange(`${listener.url}${path}`, options)
  const api: AdminTestGateway['api'] = (path, options) =>
    ask(path, { ...options, headers: { authorization: `Bearer ${operatorToken}`, ...options?.headers } })
  return { gateway, context, url: listener.url, origin: listener.url, operatorToken, agentToken, ask, api }
}

/** Logs in as a browser does, and returns the cookie. */
export async function logIn({ gateway, ask }: AdminTestGateway): Promise<string> {
  const { headers } = await ask(`/login?token=${gateway.logins.mintLoginCode()}`)
  return String(headers['set-cookie']).split(';')[0] ?? ''
}

async function startGateway(home: Home, state: string): Promise<Gateway> {
  const environment = { PATH: process.env.PATH, HOME: home.path, A_VARIABLE: 'a-secret-argument' }
  const gateway = await openGateway({
    home,
    state,
    loaded: await loadSettings({ home: home.path, environment }),
    environment,
    store: openStore({ state, durability: 'process' }),
    onWarning: () => {},
  })
  gateway.start()
  return gateway
}

/** The context of a real gateway, with a known version. */
const buildContext = (gateway: Gateway, urls: readonly string[]): AdminContext =>
  Object.assign(
    createAdminContext(gateway, () => urls),
    { version: '1.2.3', metrics: () => undefined },
  )

async function temporaryFolder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'sallyport-admin-'))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  return path
}

function exchange(url: string, { body, ...options }: AskOptions = {}): Promise<TestReply> {
  const text = body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
  const headers = { ...(text !== undefined && { 'content-type': 'application/json' }), ...options.headers }
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { agent: false, ...options, headers }, (response) => {
      let answer = ''
      response.setEncoding('utf8').on('data', (chunk: string) => {
        answer += chunk
      })
      response.once('error', reject)
      response.once('end', () => {
        const json = response.headers['content-type']?.startsWith('application/json')
        const { statusCode: status = 0, headers: got } = response
        resolve({ status, headers: got, text: answer, body: json ? JSON.parse(answer || 'null') : undefined })
      })
    })
    outgoing.once('error', reject)
    outgoing.end(text)
  })
}
