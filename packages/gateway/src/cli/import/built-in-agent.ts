import { formatDuration, SallyportError } from '@sallyport/core'
import { DEFAULT_SETTINGS, loadSettings, type Settings } from '../../config/config.ts'
import { defineExecutor, type ExecutorDefinition } from '../../isolation/isolation.ts'
import type { CliContext } from '../cli-context.ts'
import { findHome } from '../find-home.ts'
import type { GlobalFlags } from '../global-flags.ts'
import type { Screen } from '../terminal/screen.ts'
import { visibleLines } from '../terminal/terminal-text.ts'

/** The sub-agent that runs isolated calls, as the home configures it. */
export interface BuiltInAgent extends ExecutorDefinition {
  readonly enabled: boolean
  /** `null`: there is no model, and its calls fall back. */
  readonly model: string | null
  readonly maxTurns: number
  readonly maxTime: number
  readonly maxTokens: number
}

/** Uses the default settings if no home can be read. */
export async function describeBuiltInAgent(context: CliContext, flags: GlobalFlags): Promise<BuiltInAgent> {
  const settings = await loadHomeSettings(context, flags).catch((error: unknown) => {
    if (error instanceof SallyportError) return DEFAULT_SETTINGS
    throw error
  })
  const { executor, isolation } = settings
  const model = isolation.engine === 'none' ? undefined : (executor.model ?? isolation.model)
  return {
    ...defineExecutor(executor),
    enabled: executor.enabled,
    model: model === undefined ? null : [model.provider, model.name].filter(Boolean).join('/'),
    maxTurns: executor.maxTurns ?? isolation.maxTurns,
    maxTime: executor.maxTime ?? isolation.maxTime,
    maxTokens: executor.maxTokens ?? isolation.maxTokens,
  }
}

async function loadHomeSettings(context: CliContext, flags: GlobalFlags): Promise<Settings> {
  const { home, content } = await findHome(context, flags)
  return (await loadSettings({ home: home.path, environment: context.environment, content })).settings
}

export function printBuiltInAgent(screen: Screen, agent: BuiltInAgent): void {
  if (screen.json) return screen.printJson(agent)
  const { name, title, description, enabled, model, maxTurns, maxTime, maxTokens, systemPrompt, query } = agent
  const facts: readonly (readonly [string, string])[] = [
    ['agent', `${title} (${name}), built in${enabled ? '' : ', switched off'}`],
    ['does', description],
    ['model', model ?? 'none: calls that need it fall back as set in isolation.fallback'],
    ['limits', `${maxTurns} turns, ${formatDuration(maxTime)}, ${maxTokens} tokens`],
    ['input', Object.keys(agent.inputSchema.properties ?? {}).join(', ')],
    ['output', Object.keys(agent.outputSchema.properties ?? {}).join(', ')],
    ['system prompt', systemPrompt],
    ['query', query],
  ]
  screen.printFacts(facts.map(([key, value]) => ({ name: key, value: visibleLines(value) })))
}
