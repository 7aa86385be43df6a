import { createHash } from 'node:crypto'

/**
 * How one agent shows the tools of a server to its model. Prefixes, characters and limits were observed. The hash
 * function was not. For agents whose behavior on a clash is unknown (amp, droid) we assume that a tool is lost.
 */
interface NameRules {
  readonly prefix: string
  /** How it changes a tool's name. */
  readonly fold: (tool: string) => string
  readonly limit?: number
  /** What happens to a name beyond the limit. */
  readonly tooLong?: 'hash' | 'cut' | 'middle' | 'drop'
  /** It marks each changed name, so that names stay unique. */
  readonly marksChanged?: true
  readonly clash: 'first' | 'last' | 'hash' | 'both'
}

export interface ShownTool {
  readonly shown: string
  readonly tool: string
}

const GATEWAY = 'gw'

const keeping =
  (dropped: RegExp, by = '_') =>
  (tool: string): string =>
    tool.replaceAll(dropped, by)
const raw = (tool: string): string => tool
const word = keeping(/[^A-Za-z0-9_]/g)
const hyphened = keeping(/[^A-Za-z0-9_-]/g)
const single = (tool: string): string => word(tool).replaceAll(/_+/g, '_')

export const AGENT_NAMES: Readonly<Record<string, NameRules>> = {
  claude: { prefix: `mcp__${GATEWAY}__`, fold: hyphened, limit: 128, tooLong: 'drop', clash: 'first' },
  codex: { prefix: `mcp__${GATEWAY}__`, fold: word, limit: 128, tooLong: 'hash', clash: 'hash' },
  gemini: {
    prefix: `mcp_${GATEWAY}_`,
    fold: keeping(/[^A-Za-z0-9_.:-]/g),
    limit: 63,
    tooLong: 'middle',
    clash: 'both',
  },
  opencode: { prefix: `${GATEWAY}_`, fold: hyphened, clash: 'last' },
  kilo: { prefix: `${GATEWAY}_`, fold: hyphened, clash: 'last' },
  qwen: { prefix: `mcp__${GATEWAY}__`, fold: hyphened, limit: 63, tooLong: 'hash', marksChanged: true, clash: 'hash' },
  copilot: { prefix: `${GATEWAY}-`, fold: keeping(/[^A-Za-z0-9_-]/g, '-'), limit: 64, tooLong: 'cut', clash: 'first' },
  amp: { prefix: `mcp__${GATEWAY}__`, fold: single, limit: 64, tooLong: 'drop', clash: 'first' },
  goose: { prefix: `${GATEWAY}__`, fold: raw, clash: 'both' },
  cline: { prefix: `${GATEWAY}__`, fold: hyphened, limit: 64, tooLong: 'hash', marksChanged: true, clash: 'hash' },
  kimi: { prefix: `mcp__${GATEWAY}__`, fold: single, limit: 64, tooLong: 'hash', clash: 'first' },
  droid: { prefix: `${GATEWAY}___`, fold: word, limit: 64, tooLong: 'hash', clash: 'first' },
  cn: { prefix: '', fold: raw, clash: 'both' },
  crush: { prefix: `mcp_${GATEWAY}_`, fold: raw, clash: 'both' },
}

/** The tools that the model sees, each with the tool that a call would reach. */
export function listShownTools(rules: NameRules, tools: readonly string[]): readonly ShownTool[] {
  const shown: ShownTool[] = []
  for (const tool of tools) {
    const name = nameIn(rules, tool)
    if (name !== undefined) take({ shown: name, tool }, shown, rules.clash)
  }
  return shown
}

function take(one: ShownTool, shown: ShownTool[], clash: NameRules['clash']): void {
  const rival = shown.findIndex((other) => other.shown === one.shown)
  if (rival < 0 || clash === 'both') shown.push(one)
  else if (clash === 'last') shown[rival] = one
  else if (clash === 'hash') shown.push({ ...one, shown: `${one.shown}_${hashOf(one.tool)}` })
}

function nameIn({ prefix, fold, limit = Number.POSITIVE_INFINITY, tooLong, marksChanged }: NameRules, tool: string) {
  const folded = fold(tool)
  const name = marksChanged && folded !== tool ? `${prefix}${folded}_${hashOf(tool)}` : `${prefix}${folded}`
  if (name.length <= limit) return name
  if (tooLong === 'drop') return undefined
  if (tooLong === 'cut') return name.slice(0, limit)
  const half = Math.floor((limit - 3) / 2)
  if (tooLong === 'middle') return `${name.slice(0, half)}...${name.slice(-half)}`
  return `${name.slice(0, limit - 13)}_${hashOf(tool)}`
}

const hashOf = (tool: string): string => createHash('sha256').update(tool).digest('hex').slice(0, 12)
