import { constants, open } from 'node:fs/promises'
import { basename, extname } from 'node:path'
import { keptArguments, type LoggedEvent, type RuleSource } from '@sallyport/core'

/** What stands where a rule stood when it decided. */
export interface RuleLine {
  readonly file: string
  readonly line: number
  /** As it is now; nothing where the file or the line is no longer there. */
  readonly text?: string
  /** When the file was changed last. */
  readonly changed?: string
}

const MOST_BYTES = 16 * 1024 * 1024
const MOST_FILES = 20
const MOST_LINES = 200
const RULE_FILES = new Set(['.yaml', '.yml', '.json'])

/** The lines of the rules that these records name, each once. */
export async function ruleLines(records: readonly LoggedEvent[]): Promise<readonly RuleLine[]> {
  const named = new Map(records.flatMap(rulesIn).map((rule) => [`${rule.file}:${rule.line}`, rule]))
  const rules = [...named.values()].slice(0, MOST_LINES)
  const files = [...new Set(rules.map(({ file }) => file))].slice(0, MOST_FILES)
  const read = new Map(await Promise.all(files.map(async (file) => [file, await readRuleFile(file)] as const)))
  return rules.map(({ file, line }) => lineOf({ file, line }, read.get(file)))
}

function rulesIn(record: LoggedEvent): readonly RuleSource[] {
  if (record.type === 'APPROVAL_REQUESTED') return record.rule ? [record.rule] : []
  if (record.type !== 'TOOL_CALL_STARTED' && record.type !== 'POLICY_DENIED') return []
  const { decided_by, would, rules = {} } = record
  return [decided_by?.rule, would?.rule, ...Object.values(rules)].filter((rule) => rule !== undefined)
}

interface RuleFile {
  readonly lines: readonly string[]
  readonly changed: string
}

function lineOf(rule: RuleSource, file: RuleFile | undefined): RuleLine {
  if (file === undefined) return rule
  const text = file.lines[rule.line - 1]?.trim()
  return { ...rule, changed: file.changed, ...(text && { text: shown(rule.file, text) }) }
}

/** What may stand behind it is nobody's business. */
const OF_SERVER = /["']?\b(command|args|env|headers|url|secret)\b["']?\s*:/i

/** A server's entry may stand in one line of the config, with its keys: then its name is enough. */
function shown(file: string, line: string): string {
  const isEntry = basename(file) !== 'tools.yaml' && OF_SERVER.test(line)
  const [name = ''] = line.split(/[:{]/, 1)
  const text = isEntry ? `${name}${name && ': '}…` : line
  const kept = keptArguments({ text }, 'redacted') as { readonly text?: string } | undefined
  return kept?.text ?? ''
}

/** A record is no reason to read any file whatever. */
async function readRuleFile(path: string): Promise<RuleFile | undefined> {
  if (!RULE_FILES.has(extname(path))) return undefined
  // Without O_NONBLOCK a named pipe would hold us up for ever.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => undefined)
  if (file === undefined) return undefined
  try {
    const found = await file.stat()
    if (!found.isFile() || found.size > MOST_BYTES) return undefined
    const text = await file.readFile('utf8')
    return { lines: text.split(/\r\n|\r|\n/), changed: found.mtime.toISOString() }
  } catch {
    return undefined
  } finally {
    await file.close()
  }
}
