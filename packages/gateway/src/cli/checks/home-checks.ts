import { statSync } from 'node:fs'
import { join } from 'node:path'
import { SallyportError } from '@sallyport/core'
import { checkTrust, describeIssue, type Home, loadSettings, type Settings } from '../../config/config.ts'
import { findWriteProtection } from '../../disk/disk.ts'
import { formatIssue, readToolsBytes } from '../../governance/governance.ts'
import type { CliContext } from '../cli-context.ts'
import { type FoundHome, findHome } from '../find-home.ts'
import type { ToolsFileView } from '../gateway/gateway-client.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { type Check, ok, warning, wrong } from './check.ts'

const ORIGINS: Readonly<Record<Home['origin'], string>> = {
  flag: 'named by --home',
  environment: 'named by SALLYPORT_HOME',
  project: 'found in this folder',
  user: 'your own',
}

export interface HomeFindings {
  readonly checks: readonly Check[]
  /** Where it is; missing if it could not be found. */
  readonly path?: string
  /** tools.yaml, if it exists. */
  readonly tools?: { readonly path: string; readonly bytes: Buffer } | undefined
  /** `undefined` if the home cannot be used. */
  readonly settings: Settings | undefined
}

/** Checks where the home is and why there, whether it may be used, and what is wrong in it. */
export async function checkHome(context: CliContext, flags: GlobalFlags): Promise<HomeFindings> {
  const found = await attempt('home', () => findHome(context, flags))
  if ('level' in found) return { checks: [found], settings: undefined }
  const loaded = await attempt('config', () =>
    loadSettings({ home: found.home.path, environment: context.environment, content: found.content }),
  )
  const location = [checkHomeLocation(found), await checkHomeTrust(found)]
  const bytes = found.content.files.get('tools.yaml')
  const tools = bytes && { path: join(found.home.path, 'tools.yaml'), bytes }
  const { path } = found.home
  if ('level' in loaded) return { checks: [...location, loaded], path, tools, settings: undefined }
  const { settings, warnings } = loaded
  const config =
    warnings.length === 0
      ? [ok('config', `The config is valid: ${counted(settings.servers.length, 'server')}`)]
      : warnings.map((issue) => warning('config', describeIssue(issue)))
  return { checks: [...location, ...config, ...checkWriteProtection(path)], path, tools, settings }
}

function checkHomeLocation({ home }: FoundHome): Check {
  const finding = `${home.path} (${ORIGINS[home.origin]})`
  if (statSync(home.path, { throwIfNoEntry: false })) return ok('home', finding)
  return warning(
    'home',
    `${finding} does not exist yet`,
    'Create it and write a config.yaml, or name another with --home.',
  )
}

/** Finds write-protected files among those that the gateway and its commands write. */
function checkWriteProtection(home: string): readonly Check[] {
  return ['tools.yaml', 'profiles.json'].flatMap((name) => {
    const stats = statSync(join(home, name), { throwIfNoEntry: false })
    const why = stats && findWriteProtection(stats)
    if (why === undefined) return []
    const fix = 'Sallyport does not write to it. New tools have no entry in tools.yaml until somebody adds one.'
    return [
      warning(
        name,
        `${join(home, name)}: ${why}.`,
        name === 'tools.yaml' ? fix : 'Profiles can be changed by hand only.',
      ),
    ]
  })
}

async function checkHomeTrust(found: FoundHome): Promise<Check> {
  const trust = await checkTrust(found)
  if (trust === 'trusted')
    return ok('trust', found.home.origin === 'project' ? 'You trusted this home' : 'Not needed: you chose this home')
  const finding = trust === 'changed' ? 'This home has changed since you trusted it.' : 'This home is not trusted.'
  return wrong('trust', finding, 'Read its files, then run `sallyport trust`.')
}

/** Turns an expected error into a failed check. */
export async function attempt<Value extends object>(name: string, read: () => Promise<Value>): Promise<Value | Check> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof SallyportError) return wrong(name, error.message, error.hint)
    throw error
  }
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

interface ToolsCheckOptions {
  /** The report of the gateway that runs on the home. */
  readonly running: ToolsFileView | undefined
  /** The file on disk. */
  readonly tools: { readonly path: string; readonly bytes: Uint8Array } | undefined
}

const NAME = 'tools'

/** Whether tools.yaml is in force, and which of its problems need attention. */
export function checkTools({ running, tools }: ToolsCheckOptions): readonly Check[] {
  if (running) return toChecks(running)
  if (tools === undefined) return [ok(NAME, 'There is no tools.yaml yet: the first start writes it')]
  const reading = readToolsBytes(tools.path, tools.bytes)
  if (!reading.ok) {
    const finding = `${formatIssue(tools.path, reading.issue)} No tool can be called until it is corrected.`
    return [wrong(NAME, finding, 'Correct the file.')]
  }
  if (reading.warnings.length > 0) return reading.warnings.map((issue) => warning(NAME, formatIssue(tools.path, issue)))
  return [validCheck(tools.path, reading.file.entries.length)]
}

function toChecks({ path, entries, problems }: ToolsFileView): readonly Check[] {
  if (problems.length === 0) return [validCheck(path, entries)]
  return problems.map(({ level, problem, fix }) => (level === 'wrong' ? wrong : warning)(NAME, problem, fix))
}

const validCheck = (path: string, entries: number): Check =>
  ok(NAME, `${path} is in force: ${entries === 1 ? '1 entry' : `${entries} entries`}`)
