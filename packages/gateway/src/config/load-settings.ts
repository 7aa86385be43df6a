import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { SallyportError } from '@sallyport/core'
import { DEFAULT_SETTINGS } from './defaults.ts'
import { findUserHome } from './home/home.ts'
import { type HomeContent, readHome } from './home/home-content.ts'
import { type ConfigIssue, describeIssue } from './reading/config-issue.ts'
import { createLookup, type Environment } from './reading/environment.ts'
import type { LocatedTree } from './reading/located-tree.ts'
import { readDockerVariables } from './servers/docker-variables.ts'
import type { Profiles, Settings } from './settings.ts'

export interface LoadOptions {
  readonly home: string
  readonly environment: Environment
  /** The content of the home if it was already read, for example when its trust was checked. */
  readonly content?: HomeContent
  /** The parsed config file of this content, if available: parsing thousands of servers takes a second. */
  readonly tree?: LocatedTree | undefined
}

/** The settings, and the digests of the exact bytes that they were read from. */
export interface LoadedSettings extends Pick<HomeContent, 'digest' | 'configDigest' | 'included'> {
  readonly settings: Settings
  readonly warnings: readonly ConfigIssue[]
  /** tools.yaml, read together with the settings; `undefined` if the settings do not come from a home. */
  readonly tools: { readonly bytes: Buffer | undefined } | undefined
}

/** Reads and validates the config of a home. Throws CONFIG_INVALID with every error in it. */
export async function loadSettings(options: LoadOptions): Promise<LoadedSettings> {
  const content = options.content ?? (await readHome(options.home))
  const { digest, configDigest, included = [] } = content
  const tools = { bytes: content.files.get('tools.yaml') }
  const profiles = await loadProfiles(content)
  const docker = readDockerVariables(options.environment)
  const chosen = chooseConfig(content) ?? (docker.enabled ? emptyConfig(options.home) : undefined)
  if (chosen === undefined) {
    return {
      settings: deepFreeze({ ...DEFAULT_SETTINGS, profiles }),
      warnings: [await missingConfigWarning(options.home)],
      digest,
      configDigest,
      included,
      tools,
    }
  }
  const { text, file } = decode(chosen)
  // The parser and the schema take longer to load than everything else: callers that need only a path should not wait.
  const { parseTree } = await import('./reading/located-tree.ts')
  const { readConfig } = await import('./reading/read-config.ts')
  const { settings, errors, warnings, ...read } = readConfig({
    file,
    tree: options.tree ?? parseTree(text),
    home: options.home,
    userHome: findUserHome(options.environment),
    lookup: createLookup(options.environment),
    docker,
    included: content.included,
  })
  if (errors.length > 0) throw invalidFileError(file, errors)
  const allWarnings = sortByPosition([...notEnforcedWarnings(read.unenforced, file), ...chosen.warnings, ...warnings])
  return {
    settings: deepFreeze({ ...settings, profiles }),
    warnings: allWarnings,
    digest,
    configDigest,
    included,
    tools,
  }
}

/** profiles.json decides who gets which tools and which clients may approve, so a file with an error is rejected as a whole. */
async function loadProfiles({ path, files }: HomeContent): Promise<Profiles> {
  const bytes = files.get('profiles.json')
  if (bytes === undefined) return DEFAULT_SETTINGS.profiles
  const file = join(path, 'profiles.json')
  const { readProfiles } = await import('./profiles/profiles.ts')
  const { profiles, errors } = readProfiles(file, Buffer.from(decode({ file, bytes }).text))
  if (errors.length > 0) throw invalidFileError(file, errors)
  return profiles
}

interface ChosenConfig {
  readonly file: string
  readonly bytes: Buffer
  readonly warnings: readonly ConfigIssue[]
}

function chooseConfig({ path, files }: HomeContent): ChosenConfig | undefined {
  const yaml = files.get('config.yaml')
  const json = files.get('config.json')
  if (yaml === undefined) return json && { file: join(path, 'config.json'), bytes: json, warnings: [] }
  const ignored = createFileIssue(
    join(path, 'config.json'),
    'this file is ignored, because there is a config.yaml beside it.',
  )
  return { file: join(path, 'config.yaml'), bytes: yaml, warnings: json === undefined ? [] : [ignored] }
}

/** Without a config file, environment variables alone can still add a server. */
function emptyConfig(home: string): ChosenConfig {
  const file = join(home, 'config.yaml')
  const problem = `there is no ${file}: the only server of the gateway is the one from MCP_GATEWAY_ENABLED.`
  return { file, bytes: Buffer.alloc(0), warnings: [createFileIssue(file, problem)] }
}

function decode({ file, bytes }: Pick<ChosenConfig, 'file' | 'bytes'>): {
  readonly file: string
  readonly text: string
} {
  try {
    return { file, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
  } catch (cause) {
    throw new SallyportError('CONFIG_INVALID', `${file} is not UTF-8 text.`, { hint: 'Save it as UTF-8.', cause })
  }
}

async function missingConfigWarning(home: string): Promise<ConfigIssue> {
  const misnamed = await stat(join(home, 'config.yml')).catch(() => undefined)
  const hint = misnamed === undefined ? '' : ' There is a config.yml: rename it to config.yaml.'
  const file = join(home, 'config.yaml')
  return createFileIssue(file, `there is no ${file}: the gateway has no servers.${hint}`)
}

const createFileIssue = (file: string, problem: string): ConfigIssue => ({ file, line: 0, column: 0, key: '', problem })

function notEnforcedWarnings(keys: readonly string[], file: string): readonly ConfigIssue[] {
  const text = describeNotEnforced(keys)
  return text === undefined ? [] : [createFileIssue(file, text)]
}

const sortByPosition = (issues: readonly ConfigIssue[]): readonly ConfigIssue[] =>
  issues.toSorted((a, b) => a.line - b.line || a.column - b.column)

const MAX_LISTED = 50

/** All errors of a file, as one error. */
export function invalidFileError(file: string, errors: readonly ConfigIssue[]): SallyportError {
  const sorted = sortByPosition(errors)
  const listed = sorted.slice(0, MAX_LISTED).map((issue) => `  ${describeIssue(issue)}`)
  if (sorted.length > MAX_LISTED) listed.push(`  … and ${sorted.length - MAX_LISTED} more`)
  const count = errors.length === 1 ? 'one error' : `${errors.length} errors`
  return new SallyportError('CONFIG_INVALID', [`${file} has ${count}:`, ...listed].join('\n'), {
    hint: `Correct the file; every key is explained in docs/${file.endsWith('profiles.json') ? 'profiles' : 'configuration'}.md.`,
  })
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const member of Object.values(value)) deepFreeze(member)
  return Object.freeze(value)
}

const MAX_NAMED = 12

/** One warning for all protections that a home asks for and this version does not provide; `undefined` if there are none. */
function describeNotEnforced(keys: readonly string[]): string | undefined {
  if (keys.length === 0) return undefined
  const rest = keys.length > MAX_NAMED ? `, and ${keys.length - MAX_NAMED} more` : ''
  return `these settings are not enforced in this version yet: ${keys.slice(0, MAX_NAMED).join(', ')}${rest}.`
}
