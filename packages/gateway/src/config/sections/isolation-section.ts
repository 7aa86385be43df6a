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

export function readIsolation(section: IsolationSection, node: ConfigNode, log: IssueLog): IsolationSettings {
  const { model, ...fields } = section
  const settings = {
    ...DEFAULT_ISOLATION,
    ...fields,
    model: model && readModel(model, node.children.get('model') ?? node, log),
  }
  if (settings.engine === 'provider' && model === undefined)
    log.error(node, 'the engine is "provider"; expected "model", such as {provider: anthropic}; got none.')
  return settings
}

export function readExecutor(section: AgentsSection, node: ConfigNode, log: IssueLog): ExecutorSettings {
  const { model: given, enabled = true, ...fields } = section['mcp-executor'] ?? {}
  const at = node.children.get('mcp-executor')?.children.get('model') ?? node
  const model = given && readModel(given, at, log)
  for (const key of ['query', 'systemPrompt'] as const)
    checkTemplate(fields[key] ?? '', node.children.get('mcp-executor')?.children.get(key) ?? node, log)
  return { ...fields, enabled, ...(model && { model }) }
}

function checkTemplate(template: string, node: ConfigNode, log: IssueLog): void {
  for (const [written] of template.matchAll(TEMPLATE_PLACEHOLDER)) {
    const name = placeholderName(written)
    if (TEMPLATE_VARIABLES.includes(name)) continue
    const guess = didYouMean(name, TEMPLATE_VARIABLES)
    log.error(node, `expected only the variables ${TEMPLATE_VARIABLES.join(', ')}; got ${written}.${guess}`)
  }
}

/** `{{toolName}}` or `${toolName}`. */
export const TEMPLATE_PLACEHOLDER = /\$\{[^{}]*\}|\{\{[^{}]*\}\}/g
export const placeholderName = (written: string): string =>
  written
    .replace(/^\$?\{+/, '')
    .replace(/\}+$/, '')
    .trim()

/** Without a provider, it logs an error and returns `undefined`. A custom endpoint has no default model, so it needs a name. */
function readModel(
  { provider, name, baseUrl, apiKey, apiKeyFile }: ModelSection,
  node: ConfigNode,
  log: IssueLog,
): ModelSettings | undefined {
  if (provider === undefined) {
    log.error(node, `expected "provider", one of ${MODEL_PROVIDERS.join(', ')}; got none.`)
    return undefined
  }
  const at = (key: string): ConfigNode => node.children.get(key) ?? node
  if (provider === 'openai-compatible' && (name === undefined || baseUrl === undefined))
    log.error(node, `expected "name" and "base_url"; got no "${name === undefined ? 'name' : 'base_url'}".`)
  if (at('apiKey').origin === 'written' && apiKey !== undefined)
    log.warn(
      at('apiKey'),
      'this API key is written in the file. Use a variable instead, such as "${ANTHROPIC_API_KEY}".',
    )
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
  node: ConfigNode,
  { apiKey, log }: { readonly apiKey: string | undefined; readonly log: IssueLog },
): void {
  if (apiKey !== undefined) log.error(node, 'expected "api_key" or "api_key_file"; got both.')
  if (!isAbsolute(path) && node.origin !== 'unresolved')
    log.error(node, `expected an absolute path, such as "/run/secrets/anthropic"; got ${JSON.stringify(path)}.`)
}

export function readContext(
  { cap, presets, retention }: ContextSection,
  node: ConfigNode,
  log: IssueLog,
): ContextSettings {
  return {
    cap: cap === 'off' ? undefined : (cap ?? DEFAULT_CONTEXT.cap),
    presets: presets === undefined ? DEFAULT_CONTEXT.presets : readAllPresets(presets, node, log),
    retention: {
      age: retention?.age ?? DEFAULT_CONTEXT.retention.age,
      bytes: retention?.size ?? DEFAULT_CONTEXT.retention.bytes,
    },
  }
}

function readAllPresets(written: JsonObject, node: ConfigNode, log: IssueLog): Presets {
  try {
    return readPresets(written)
  } catch (error) {
    if (!(error instanceof SallyportError)) throw error
    log.error(node.children.get('presets') ?? node, error.text)
    return DEFAULT_CONTEXT.presets
  }
}
