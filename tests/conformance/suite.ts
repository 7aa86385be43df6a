import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs, { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { REPOSITORY } from '../harness/run-gateway.ts'
import type { Check } from './check.ts'

export const REVISIONS = ['2025-11-25', '2026-07-28'] as const
export type Revision = (typeof REVISIONS)[number]

const PACKAGE = join(REPOSITORY, 'node_modules/@modelcontextprotocol/conformance')
const OLD_NODE = join(REPOSITORY, 'tests/conformance/suite-on-old-node.mjs')
/** For one scenario; the longest takes seven seconds when nothing is lost. */
const SCENARIO_TIMEOUT_MS = 20_000

/** The scenarios that a revision requires, frozen at its release; the suite runs more, and does not score them. */
export function requiredScenarios(revision: Revision, side: 'server' | 'client'): ReadonlySet<string> {
  const file = readFileSync(join(PACKAGE, 'requirements', `${revision}.yaml`), 'utf8')
  const section = file.split(/^(?=\w+:)/m).find((part) => part.startsWith(`${side}:`)) ?? ''
  return new Set([...section.matchAll(/^ {2}- (\S+)$/gm)].map(([, scenario = '']) => scenario))
}

/** Every scenario of a revision, or one, against a server. */
export function runAgainstServer(url: string, revision: Revision, scenario?: string): Promise<readonly Check[]> {
  const which = scenario === undefined ? ['--requirements', revision] : only(scenario, revision)
  return runSuite(['server', '--url', url, ...which])
}

/** One scenario against a client, which is started with the address of the suite's server as its last argument. */
export function runAgainstClient(command: string, revision: Revision, scenario: string): Promise<readonly Check[]> {
  return runSuite(['client', '--command', command, ...only(scenario, revision)])
}

function only(scenario: string, revision: Revision): readonly string[] {
  return ['--scenario', scenario, '--spec-version', revision, '--force']
}

async function runSuite(args: readonly string[]): Promise<readonly Check[]> {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-conformance-'))
  try {
    const hook = 'globSync' in fs ? [] : ['--import', OLD_NODE]
    const options = ['--timeout', String(SCENARIO_TIMEOUT_MS), '--output-dir', folder]
    const suite = spawn(process.execPath, [...hook, join(PACKAGE, 'dist/index.js'), ...args, ...options], {
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const [words] = await Promise.all([text(suite.stderr), once(suite, 'close')])
    const checks = readdirSync(folder).flatMap((name) => readChecks(folder, name))
    if (checks.length === 0) throw new Error(`The suite has checked nothing (${args.join(' ')}):\n${words}`)
    return checks
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A folder for each scenario, named after it and the time. */
function readChecks(folder: string, name: string): readonly Check[] {
  const scenario = name.replace(/^server-(?=.+-\d{4}-\d\d-\d\dT)/, '').replace(/-\d{4}-\d\d-\d\dT[^/]*$/, '')
  const file = join(folder, name, 'checks.json')
  if (!fs.existsSync(file)) return []
  const checks = JSON.parse(readFileSync(file, 'utf8')) as readonly Record<string, string>[]
  return checks.map(({ id = '', name: title = '', status, errorMessage, description }) => ({
    scenario,
    id,
    name: title,
    status: status as Check['status'],
    message: errorMessage ?? description ?? '',
  }))
}
