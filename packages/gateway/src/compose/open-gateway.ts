import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { getSessionId, getUserId, type McpServer } from '@sallyport/kit'
import { findUserHome, locateKeys } from '../config/config.ts'
import { makeFolder } from '../disk/disk.ts'
import { compilePattern } from '../governance/governance.ts'
import {
  createBubblewrapDriver,
  createProtection,
  GatewayContainers,
  identifyState,
  listStorageFolders,
  pickEngineEnvironment,
  Sandboxes,
} from '../sandbox/sandbox.ts'
import { CallerKeys, CurrentAuthenticators, openLocalTokens } from '../sessions/sessions.ts'
import { openGatewayTelemetry } from '../telemetry/telemetry.ts'
import { createBuiltInServer, createMark, openWatchdog, type Watchdog } from '../upstream/upstream.ts'
import { VERSION } from '../version.ts'
import { Gateway, type GatewayParts, type OpenedParts, stackOf } from './gateway.ts'
import { openSessionData, type SessionData } from './session-data.ts'

/** Opens what the first request needs, and nothing that can be opened later. If that fails, it closes the store. */
export async function openGateway(parts: GatewayParts): Promise<Gateway> {
  const { state, environment, onWarning, loaded } = parts
  const undo: (() => void | Promise<void>)[] = [() => parts.store.close()]
  try {
    makeFolder(join(state, 'workspaces'))
    const tokens = await openLocalTokens({ state, onWarning })
    undo.push(() => tokens.close())
    const gatekeeper = new CurrentAuthenticators(tokens, loaded.settings.jwt)
    const callerKeys = createCallerKeys(parts)
    const marks = createMarks(state)
    const watchdog = openWatchdog({
      ...{ runMark: marks.run, environment, onWarning },
      engineEnvironment: pickEngineEnvironment(environment),
    })
    undo.push(() => watchdog.close())
    const telemetry = await openGatewayTelemetry({
      ...loaded.settings.telemetry,
      version: VERSION,
      environment,
      onWarning,
    })
    undo.push(() => telemetry.close())
    const sessionData = openSessionData({
      ...{ state, home: parts.home.path, environment, onWarning },
      settings: () => gateway.settings,
      onRemoved: (owner, removed) => gateway.recordRemovedData(owner, removed),
    })
    const builtIns = createBuiltIns(parts, sessionData)
    const containers = createContainers(parts, marks, watchdog)
    const sandboxes = createSandboxes(parts, { workspaces: sessionData.workspaces, containers }, () => gateway)
    const gateway: Gateway = new Gateway(parts, {
      ...{ tokens, gatekeeper, callerKeys, watchdog, builtIns, sessionData, telemetry, marks, sandboxes },
    })
    gateway.governance.approvalChannels.watchTokens(tokens)
    gateway.restore()
    return gateway
  } catch (error) {
    for (const step of undo.reverse()) await step()
    throw error
  }
}

/** They are read or created when the first server needs them. */
function createCallerKeys({ home, state, environment, onWarning }: GatewayParts): CallerKeys {
  const folder = locateKeys({ environment, cwd: process.cwd() })
  return new CallerKeys({ folder, notInside: [state, home.path], now: () => Date.now(), onWarning })
}

function createContainers(
  { state, environment, onWarning }: GatewayParts,
  { run }: OpenedParts['marks'],
  watchdog: Watchdog,
): GatewayContainers {
  const onFirstUse = (program: string): void => watchdog.watchContainers(program)
  return new GatewayContainers({ state, run, environment, onFirstUse, onWarning })
}

/** bubblewrap and the engines are looked for and tried when the first server needs them. */
function createSandboxes(
  { home, state, environment }: GatewayParts,
  { workspaces, containers }: Pick<SessionData, 'workspaces'> & { readonly containers: GatewayContainers },
  gateway: () => Gateway,
): Sandboxes {
  const { docker, podman } = containers
  const keys = locateKeys({ environment, cwd: process.cwd() })
  const own = [home.path, state, keys, ...listStorageFolders({ state, environment })]
  return new Sandboxes({
    drivers: { bubblewrap: createBubblewrapDriver({ environment }), docker, podman },
    sweepContainers: () => containers.sweep(),
    protection: createProtection({ userHome: findUserHome(environment), own }),
    environment,
    cwd: process.cwd(),
    allow: () => gateway().settings.labels.allow,
    limits: () => gateway().settings.sandbox.limits,
    workspaces,
    owner: identifyState(state),
    record: (event) => void gateway().store.log.append(event),
    onEvent: (event) => gateway().record(event),
  })
}

function createMarks(path: string): OpenedParts['marks'] {
  const state = createMark(identifyState(path))
  return { state, run: `${state}.${createMark(randomBytes(8).toString('hex'))}` }
}

/** The gateway's own tools. In each session they see only its own workspace and results. */
function createBuiltIns({ state, onWarning }: GatewayParts, { sessionResults, sessionKeys }: SessionData): McpServer {
  return createBuiltInServer({
    version: VERSION,
    dataFolder: state,
    sessionKeys,
    compilePattern,
    resultStore: () => sessionResults.storeFor({ user: getUserId(), session: getSessionId() }),
    onBug: (bug) => onWarning(`a built-in tool broke: ${stackOf(bug.error)}`),
  })
}
