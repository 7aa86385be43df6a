// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the example in a message shows a reference.

import { isAbsolute } from 'node:path'
import { didYouMean, type JsonObject, type Presets, readPresets, SallyportError } from '@sallyport/core'
import { DEFAULT_CONTEXT, DEFAULT_ISOLATION } from '../defaults.ts'
import type { IssueLog } from '../reading/issue-log.ts'
import type { ConfigNode } from '../reading/normalize.ts'
import { readUrl } from '../servers/server-address.ts'
import type { ContextSettings, ExecutorSettings, IsolationSettings, ModelSettings } from '../settings.ts'
import {
  type AgentsSection,
  type ContextSection,
  type IsolationSection,
  MODEL_PROVIDERS,
  type ModelSection,
  TEMPLATE_VARIABLES,
} from './isolation-schema.ts'

export function readIsolation(section: IsolationSection, spot: ConfigNode, log: IssueLog): IsolationSettings {
  const { model, ...fields } = section
  const settings = {
    ...DEFAULT_ISOLATION,
    ...fields,
    model: model && readModel(model, spot.children.get('model') ?? spot, log),
  }
  if (settings.engine === 'provider' && model === undefined)
    log.error(spot, 'the engine is "provider"; expected "model", such as {provider: anthropic}; got none.')
  return settings
}

export function readExecutor(section: AgentsSection, spot: ConfigNode, log: IssueLog): ExecutorSettings {
  const { model: given, enabled = true, ...fields } = section['mcp-executor'] ?? {}
  const at = spot.children.get('mcp-executor')?.children.get('model') ?? spot
  const model = given && readModel(given, at, log)
  for (const key of ['query', 'systemPrompt'] as const)
    checkTemplate(fields[key] ?? '', spot.children.get('mcp-executor')?.children.get(key) ?? spot, log)
  return { ...fields, enabled, ...(model && { model }) }
}

function checkTemplate(template: string, spot: ConfigNode, log: IssueLog): void {
  for (const [written] of template.matchAll(TEMPLATE_PLACEHOLDER)) {
    const name = placeholderName(written)
    if (TEMPLATE_VARIABLES.includes(name)) continue
    const guess = didYouMean(name, TEMPLATE_VARIABLES)
    log.error(spot, `expected only the variables ${TEMPLATE_VARIABLES.join(', ')}; got ${written}.${guess}`)
  }
}

/** `{{toolName}}` or `${toolName}`. */
export const TEMPLATE_PLACEHOLDER = /\$\{[^{}]*\}|\{\{[^{}]*\}\}/g
export const placeholderName = (written: string): string =>
  written
    .replace(/^\$?\{+/, '')
    .replace(/\}+$/, '')
    .trim()

/** Nothing after it was logged that there is no provider. An endpoint of one's own has no model that we could know. */
function readModel(
  { provider, name, baseUrl, apiKey, apiKeyFile }: ModelSection,
  spot: ConfigNode,
  log: IssueLog,
): ModelSettings | undefined {
  if (provider === undefined) {
    log.error(spot, `expected "provider", one of ${MODEL_PROVIDERS.join(', ')}; got none.`)
    return undefined
  }
  const at = (key: string): ConfigNode => spot.children.get(key) ?? spot
  if (provider === 'openai-compatible' && (name === undefined || baseUrl === undefined))
    log.error(spot, `expected "name" and "base_url"; got no "${name === undefined ? 'name' : 'base_url'}".`)
  if (at('apiKey').origin === 'written' && apiKey !== undefined)
    log.warn(at('apiKey'), 'a key stands in the file. Write it as a variable, such as "${ANTHROPIC_API_KEY}".')
  if (apiKeyFile !== undefined) checkKeyFile(apiKeyFile, at('apiKeyFile'), { apiKey, log })
  const isKnown = baseUrl !== undefined && at('baseUrl').origin !== 'unresolved'
  return {
    provider,
    name,
    baseUrl: isKnown ? readUrl(baseUrl, at('baseUrl'), log) : baseUrl,
    apiKey,
    ...(apiKeyFile && { apiKeyFile }),
  }
}

function checkKeyFile(
  path: string,
  spot: ConfigNode,
  { apiKey, log }: { readonly apiKey: string | undefined; readonly log: IssueLog },
): void {
  if (apiKey !== undefined) log.error(spot, 'expected a key or the file that holds it; got both.')
  if (!isAbsolute(path) && spot.origin !== 'unresolved')
    log.error(spot, `expected an absolute path, such as "/run/secrets/anthropic"; got ${JSON.stringify(path)}.`)
}

export function readContext(
  { cap, presets, retention }: ContextSection,
  spot: ConfigNode,
  log: IssueLog,
): ContextSettings {
  return {
    cap: cap === 'off' ? undefined : (cap ?? DEFAULT_CONTEXT.cap),
    presets: presets === undefined ? DEFAULT_CONTEXT.presets : readAllPresets(presets, spot, log),
    retention: {
      age: retention?.age ?? DEFAULT_CONTEXT.retention.age,
      bytes: retention?.size ?? DEFAULT_CONTEXT.retention.bytes,
    },
  }
}

function readAllPresets(written: JsonObject, spot: ConfigNode, log: IssueLog): Presets {
  try {
    return readPresets(written)
  } catch (error) {
    if (!(error instanceof SallyportError)) throw error
    log.error(spot.children.get('presets') ?? spot, error.text)
    return DEFAULT_CONTEXT.presets
  }
}
